"""Checks random pieces of advice: each sentence against its numbers and against fresh runs.

``python -m plait.validate.advice 200`` prints all contradictions, and the number of sentences of
each kind.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from plait.advice import advise
from plait.validate.fresh import contradictions
from plait.validate.links import said
from plait.validate.statements import complaints

EVENTS = 4_000_000
"""Event budget of each advice: less than a sixth of the default, so statements rest on fewer
runs."""
OTHER_SEED = 1_000_003


def say(line: str) -> None:
    """Print one line immediately."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the checks; the exit code is 1 after a contradiction, otherwise 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", type=int, nargs="?", default=20)
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first call: each has links of its own"
    )
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    kinds: Counter[str] = Counter()
    bad, longest = 0, 0.0
    with tempfile.TemporaryDirectory(prefix="plait-") as folder:
        for number in range(given.first, given.first + given.calls):
            asked = said(Random(number), Path(folder))
            start = time.process_time()
            advice = advise(**asked, events=given.events)
            longest = max(longest, time.process_time() - start)
            document = advice.document()
            kinds.update(one["kind"] for one in document["statements"])
            for why in (*complaints(document), *contradictions(advice, OTHER_SEED + number)):
                bad += 1
                say(f"call {number}: {why}\n    {asked}")
    sentences = sum(kinds.values())
    say(
        f"{given.calls} calls, {sentences} sentences, {bad} contradicted; at most {longest:.1f} s of processor time"
    )
    say(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
