"""The advice as a JSON document, and its nominal scenario as a file."""

from __future__ import annotations

import json
from typing import Any

from plait.advice import wording
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT, Standing
from plait.advice.page import recommended
from plait.scenarios.text import scenario_text
from plait.statistics.estimate import Estimate

METRICS = {"bulk": "goodput_bps", "blocks": "block_delay_ms.p95", "file": "completion_time_s"}
"""By what each kind of traffic is judged."""


def document(advice: Findings) -> dict[str, Any]:
    """Everything that was found; names end in their unit, as those of metrics do."""
    setting, choice, found = advice.setting, advice.choice, advice.buffer
    use = recommended(advice)
    spare = wording.needless(advice) if advice.verdict in ("worth", "borderline") else None
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


def scenario_file(advice: Findings) -> str:
    """The nominal scenario as a scenario file."""
    comment = "What was said to plait advise, unchanged. Queues of which nothing was said are a guess."
    return scenario_text(advice.scenario.to_dict(), comment)


def _standing(advice: Findings, one: Standing) -> dict[str, Any]:
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
