"""The advice as a JSON document, and its nominal scenario as a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from plait.advice import doing, wording
from plait.advice.amounts import losses_text
from plait.advice.deployment import Answer
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT, Standing
from plait.advice.page import after, before, recommended
from plait.advice.shaped import SHAPED
from plait.scenarios.text import scenario_text
from plait.statistics.estimate import Estimate


def document(advice: Findings) -> dict[str, Any]:
    """Return all findings; names end in their unit, as those of metrics do."""
    setting, choice, found = advice.setting, advice.choice, advice.buffer
    use = recommended(advice)
    spare = wording.needless(advice) if advice.several else None
    return {
        "recommendation": wording.heading(advice).text,
        "statements": [{"kind": one.kind, "text": one.text} for one in (*before(advice), *after(advice))],
        "verdict": advice.verdict,
        "scheduler": None if choice is None else choice.best.label,
        "use_paths": []
        if use is None
        else [
            setting.paths[index].name for index in use.candidate.paths if setting.paths[index].name != spare
        ],
        "best_single_path": setting.paths[advice.single.candidate.paths[0]].name,
        "worth_percent": WORTH_PERCENT,
        "answers": [_answer(one) for one in advice.answers],
        "against_scheduler_percent": {}
        if choice is None
        else {name: _estimate(one) for name, one in choice.lags.items()},
        "width_for_many": None if choice is None else choice.width,
        "better": [] if choice is None else list(choice.better),
        "as_good": [] if choice is None else list(choice.alike),
        "quicker_packets": None if choice is None or choice.quicker is None else choice.quicker.label,
        "undecided": [] if choice is None else list(choice.undecided),
        "metric": setting.traffic.column,
        "dropped": list(advice.dropped),
        "standings": [_standing(advice, one) for one in advice.standings],
        "receive_buffer": None
        if found is None
        else {
            "scheduler": found.scheduler,
            "given_bytes": found.given,
            "given_cost_percent": _estimate(found.given_cost),
            "tolerated_percent": found.tolerated,
            "enough": found.enough,
            "needed_bytes": found.needed,
            "needed_cost_percent": _estimate(found.needed_cost),
            "smaller_not_tried": found.smallest,
            "variations": found.variations,
            "duration_s": found.duration_s,
            "cost_percent_by_bytes": {str(size): cost for size, cost in found.costs},
        },
        "worth_it_from": [
            {
                "key": one.key,
                "value": None if one.first is None else one.first.value,
                "until": None if one.ends is None else one.ends.value,
                "tried": [
                    {
                        "value": tried.value,
                        "gain_percent": _estimate(tried.gain),
                        "worth_in": tried.worth_in,
                        "variations": tried.variations,
                        "width_for_many": tried.width,
                        "enough": tried.enough,
                    }
                    for tried in one.tried
                ],
            }
            for one in advice.thresholds
        ],
        "adds_percent": {
            one.path: {**(_estimate(one.gain) or {}), "variations": one.variations} for one in advice.left_out
        },
        "capped": [
            {
                "path": one.path,
                "loss": one.loss,
                "rate_bps": one.rate_bps,
                "as_said_bps": one.as_said_bps,
                "in_bursts_bps": one.in_bursts_bps,
                "without_bps": one.without_bps,
                "burst_packets": one.burst_packets,
                "delays_ms": None
                if one.delays_ms is None
                else dict(zip(("as_said", "in_bursts", "without"), one.delays_ms, strict=True)),
            }
            for one in advice.capped
        ],
        "failure": None
        if advice.failure is None
        else {
            "path": advice.failure.path,
            "length_s": advice.failure.length_s,
            "alone_s": advice.failure.alone,
            "spare_s": advice.failure.spare,
            "copied_s": advice.failure.copied,
            "variations": advice.failure.variations,
        },
        "shaped": None
        if advice.shaped is None
        else {
            "path": advice.shaped.path,
            "rate_share": SHAPED,
            "gain_percent": _estimate(advice.shaped.gain),
            "median": advice.shaped.score,
            "beside_bps": advice.shaped.beside_bps,
            "variations": advice.shaped.variations,
        },
        "both_directions": None
        if advice.directions is None
        else {
            "one_path": [asdict(one) for one in advice.directions.paths],
            "a_path_each": {"down": advice.directions.down.label, "up": advice.directions.up.label},
            "gain_percent": _estimate(advice.directions.gain),
            "variations": advice.directions.variations,
        },
        "commands": [{"command": one.text, "at": one.at, "why": one.why} for one in doing.commands(advice)],
        "asked": {
            "paths": [
                {
                    "name": path.name,
                    "rate_bps": path.rate_bps,
                    "rtt_ms": path.rtt_ns / 1e6,
                    "loss": path.loss,
                    "burst_packets": path.burst,
                    "handovers": None if path.handovers is None else losses_text(path.handovers),
                    "outage_every_s": None if path.outage is None else path.outage.every_ns / 1e9,
                    "outage_length_s": None if path.outage is None else path.outage.length_ns / 1e9,
                    "queue": path.queue,
                    "jitter_ms": path.jitter_ns / 1e6,
                    "back_bps": path.back_bps,
                    "trace": path.trace,
                    "back_trace": path.back_trace,
                    "cost": path.cost,
                    "cap_bytes": path.cap,
                    "spread": {key: path.spread(key) for key in ("rate", "rtt", "loss")},
                    "preset": path.preset,
                }
                for path in setting.paths
            ],
            "traffic": advice.asked.text,
            "direction": setting.direction,
            "receive_buffer_bytes": setting.receive_buffer,
            "protocol": setting.protocol,
            "congestion_control": None if setting.protocol == "cmt-sctp" else setting.congestion,
        },
        "simulated": {
            "traffic": setting.traffic.text,
            "variations": advice.simulated.variations,
            "explored_variations": advice.simulated.explored,
            "duration_s": advice.simulated.duration_s,
            "longest_round_trips": advice.simulated.round_trips,
            "runs": advice.simulated.runs,
            "events": advice.simulated.events,
            "seed": advice.simulated.seed,
        },
        "scenario": json.loads(advice.scenario.json),
    }


def scenario_file(advice: Findings) -> str:
    """Return the nominal scenario as the text of a scenario file."""
    given = "unchanged" if advice.setting.direction == "down" else "with the upload as forward direction"
    comment = f"The input of plait advise, {given}. Other keys have the defaults of scenarios."
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
        "gain_percent": _estimate(one.gain),
        "worth_in": one.worth_in,
        "best_in": one.best_in,
        "all_delivered_in": one.whole_in,
        "goodput_bps": one.goodput_bps,
        "app_delay_ms_p95": one.delay_ms,
        "receive_buffer_bytes_max": one.buffered_bytes,
        "packets_sent_per_delivered": one.overhead,
        "samples": one.samples or None,
        "packets_share": list(one.shares),
        "beside_bps": one.beside_bps or None,
        "bound_gain_percent": one.bound_gain,
    }


def _answer(one: Answer) -> dict[str, Any]:
    return {
        "where": one.place,
        "scheduler": one.choice.best.label,
        "verdict": one.verdict,
        "best_of_its_own": one.best_new.label,
        "adds_percent": _estimate(one.adds),
    }


def _estimate(value: Estimate | None) -> dict[str, float | None] | None:
    return None if value is None else {"value": value.value, "low": value.low, "high": value.high}
