"""Draw the README's picture: one scenario of the DAPS paper, round-robin beside DAPS.

Run from anywhere: `.venv/bin/python docs/images/space_time.py`, or `make figures`.
"""

from __future__ import annotations

from pathlib import Path

import plait

HERE = Path(__file__).resolve().parent
SCENARIO = HERE.parents[1] / "papers" / "daps-icc14" / "scenarios" / "table2-2-200-45kB.toml"
WINDOW = (20.0, 20.15)


def main() -> None:
    """Run both schedulers and write the picture beside this file."""
    comparison = plait.compare(SCENARIO, ["round-robin", "daps"], packets=True)
    title = "1 Mbit/s, 20 ms (fast) and 2 Mbit/s, 200 ms (slow)"
    plait.plots.save(plait.plots.space_time(comparison, WINDOW, title=title), HERE / "space-time.png")


if __name__ == "__main__":
    main()
