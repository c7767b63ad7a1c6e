"""Gain of `--scheduler auto`: transfers over random pairs of links in virtual time, with real TLS.

``cargo build --release -p plait-quic --example auto && python benches/links/auto.py [--cases N]
[--seed S]``. Each pair carries a file with every scheduler that `auto` may change to, and with
`auto` itself. crates/plait-quic/examples/auto.rs defines the draws.

Every line is JSON, one per pair. The last line has the ratios of goodput: `auto` to its first
scheduler, and `auto` to the best fixed one, which is unknown beforehand. It also has the number of
pairs with a change, and of those that were worse than the first scheduler by more than 2 %.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FIRST = "lowest-rtt"
WORSE = 0.98
NEVER = math.inf


def quantile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank quantile."""
    return sorted(values)[round(share * (len(values) - 1))]


def ratios(cases: Sequence[dict[str, Any]], key: str) -> dict[str, float]:
    """Return median, tenth percentile, worst and best of a ratio."""
    values = [case[key] for case in cases]
    return {
        "median": quantile(values, 0.5),
        "p10": quantile(values, 0.1),
        "worst": min(values),
        "best": max(values),
    }


def judged(case: dict[str, Any]) -> dict[str, Any]:
    """Add the ratios to a pair. A failed transfer has an infinite time."""
    fixed = {name: NEVER if seconds is None else seconds for name, seconds in case["fixed"].items()}
    auto = NEVER if case["auto"] is None else case["auto"]
    best = min(fixed, key=lambda name: fixed[name])
    return {
        **case,
        "best": best,
        "to_first": fixed[FIRST] / auto,
        "to_best": fixed[best] / auto,
        "possible": fixed[FIRST] / fixed[best],
    }


def main() -> None:
    """Read the options and run."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cases", type=int, default=40)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--program", type=Path, default=Path("target/release/examples/auto"))
    given = options.parse_args()
    words = [str(given.program), str(given.cases), str(given.seed)]
    cases = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            cases.append(judged(json.loads(line)))
            print(json.dumps(cases[-1]), flush=True)
    if process.returncode or not cases:
        sys.exit(f"{given.program} ended with {process.returncode}")
    changed = [case for case in cases if case["changes"]]
    summary = {
        "cases": len(cases),
        "to_first": ratios(cases, "to_first"),
        "to_best": ratios(cases, "to_best"),
        "possible": {
            "median": quantile([case["possible"] for case in cases], 0.5),
            "p90": quantile([case["possible"] for case in cases], 0.9),
        },
        "changed": len(changed),
        "wrongly": sum(case["to_first"] < WORSE for case in changed),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
