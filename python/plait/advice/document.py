"""The advice as a JSON document, and its nominal scenario as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from plait.advice import wording
from plait.advice.advice import Advice
from plait.advice.judging import WORTH_PERCENT, Standing
from plait.advice.page import recommended
from plait.estimate import Estimate

METRICS = {"bulk": "goodput_bps", "blocks": "block_delay_ms.p95", "file": "completion_time_s"}
"""By what each kind of traffic is judged."""

_LARGER = {
    "ns": (("s", 10**9), ("ms", 10**6), ("µs", 10**3)),
    "bit": (("Mbit", 10**6), ("kbit", 10**3)),
    "B": (("MiB", 2**20), ("MB", 10**6), ("kB", 10**3)),
}
"""Units that amounts are computed in, and those in which they are easier to read."""


def document(advice: Advice) -> dict[str, Any]:
    """Everything that was found; names end in their unit, as those of metrics do."""
    setting, choice, found = advice.setting, advice.choice, advice.buffer
    use = recommended(advice)
    spare = wording.needless(advice) if advice.verdict == "worth" else None
    return {
        "recommendation": wording.heading(advice),
        "verdict": advice.verdict,
        "scheduler": None if choice is None else choice.best.label,
        "use_paths": []
        if use is None
        else [
            setting.paths[index].name for index in use.candidate.paths if setting.paths[index].name != spare
        ],
        "best_single_path": setting.paths[advice.single.candidate.paths[0]].name,
        "worth_percent": WORTH_PERCENT,
        "as_good": [] if choice is None else list(choice.alike),
        "slower_packets": [] if choice is None else list(choice.slower),
        "quicker_packets": None if choice is None or choice.quicker is None else choice.quicker.label,
        "undecided": [] if choice is None else list(choice.undecided),
        "metric": METRICS[setting.traffic.kind],
        "standings": [_standing(advice, one) for one in advice.standings],
        "receive_buffer": None
        if found is None
        else {
            "scheduler": found.scheduler,
            "given_bytes": found.given,
            "given_cost_percent": _estimate(found.given_cost),
            "enough": found.enough,
            "needed_bytes": found.needed,
            "smaller_not_tried": found.smallest,
            "cost_percent_by_bytes": {str(size): cost for size, cost in found.costs},
        },
        "worth_it_from": [
            {
                "key": one.key,
                "value": one.value,
                "until": one.until,
                "tried": one.tried,
                "gain_percent": one.gain_percent,
            }
            for one in advice.thresholds
        ],
        "adds_percent": {one.path: one.gain_percent for one in advice.left_out},
        "asked": {
            "paths": [
                {
                    "name": path.name,
                    "rate_bps": path.rate_bps,
                    "rtt_ms": path.rtt_ns / 1e6,
                    "loss": path.loss,
                    "queue": path.queue,
                    "jitter_ms": path.jitter_ns / 1e6,
                    "back_bps": path.back_bps,
                    "trace": path.trace,
                }
                for path in setting.paths
            ],
            "traffic": advice.asked.text,
            "receive_buffer_bytes": setting.receive_buffer,
            "protocol": setting.protocol,
        },
        "simulated": {
            "traffic": setting.traffic.text,
            "variations": advice.simulated.variations,
            "duration_s": advice.simulated.duration_s,
            "longest_round_trips": advice.simulated.round_trips,
            "runs": advice.simulated.runs,
            "events": advice.simulated.events,
            "seed": advice.simulated.seed,
        },
        "scenario": json.loads(advice.scenario.json),
    }


def scenario_file(advice: Advice) -> str:
    """The nominal scenario as a scenario file."""
    table = advice.scenario.to_dict()
    lists = {key: table.pop(key) for key in ("path",)}
    tables = {key: table.pop(key) for key in ("transport", "workload")}
    lines = [
        "# What was said to plait advise, unchanged. Queues of which nothing was said are a guess.",
        *_lines(table),
    ]
    for key, inner in tables.items():
        lines += ["", f"[{key}]", *_lines(inner)]
    for key, entries in lists.items():
        for entry in entries:
            lines += ["", f"[[{key}]]", *_lines(entry)]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(_readable(value))}" for key, value in table.items()]


def _toml(value: Any) -> str:
    """A value as TOML writes it: strings, numbers and tables of them, which is all that these scenarios have."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(_readable(one))}' for key, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _readable(value: Any) -> Any:
    """Amounts in the largest unit in which they are whole."""
    if not isinstance(value, str):
        return value
    for unit, larger in _LARGER.items():
        number = value.removesuffix(unit)
        if number != value and number.isdigit():
            for name, factor in larger:
                if int(number) % factor == 0:
                    return f"{int(number) // factor}{name}"
    return value


def _standing(advice: Advice, one: Standing) -> dict[str, Any]:
    return {
        "label": one.label,
        "scheduler": one.candidate.scheduler,
        "paths": [advice.setting.paths[index].name for index in one.candidate.paths],
        "median": one.value,
        "p5": one.low,
        "p95": one.high,
        "change_percent": _estimate(one.change),
        "worth_in": one.worth_in,
        "best_in": one.best_in,
        "all_delivered_in": one.whole_in,
        "goodput_bps": one.goodput_bps,
        "app_delay_ms_p95": one.delay_ms,
        "receive_buffer_bytes_max": one.buffered_bytes,
        "packets_sent_per_delivered": one.overhead,
    }


def _estimate(value: Estimate | None) -> dict[str, float | None] | None:
    return None if value is None else {"value": value.value, "low": value.low, "high": value.high}
