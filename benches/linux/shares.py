"""Compares `linux-default` with the kernel's own scheduler: the first path's share of the bytes.

    .venv/bin/python benches/linux/shares.py --draw 7 --points 100

Takes the drawn scenarios with several paths in which `plait validate linux` uses that scheduler.
The send buffers have the sizes that users have. Each scenario runs in both engines.

A single run says little, because chance decides which path gets the first burst. So the means are
compared. Beside them are the means of the kernel's own runs with odd and with even numbers: roughly
the difference between two identical engines.

100 points are some 15 scenarios and take four minutes on two cores. The kernel must be built
(`plait linux build`).
"""

from __future__ import annotations

from statistics import fmean, median

import click

from plait.engines.names import EngineName
from plait.linux.refusals import STOCK
from plait.results.result import Result
from plait.runs.experiment import frame
from plait.support.progress import Progress
from plait.validate.cases import Case, load_validation
from plait.validate.runs import task

ENGINES: tuple[EngineName, ...] = ("sim", "linux")
NEAR = 3.0
"""Largest difference of shares that agree, in percentage points."""


def cases(draw: str, points: int) -> list[Case]:
    """Return the drawn scenarios with several paths and that scheduler."""
    return [
        case
        for case in load_validation(draw=draw, points=points).cases
        if case.id.startswith(f"{draw}-")
        and any(scheduler.split(":")[0] == STOCK for scheduler in case.schedulers)
        and len(case.scenario.paths) > 1
    ]


def read(result: Result) -> dict[str, float]:
    """Return the first path's share of the throughput, in percent, and the goodput."""
    rates = [path["throughput_bps"] for path in result.paths]
    return {"share": 100 * rates[0] / (sum(rates) or 1.0), "goodput": result.metrics["goodput_bps"]}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--draw", required=True, help="Which draw from the domain: any seed.")
@click.option(
    "--points", default=100, show_default=True, help="How many scenarios are drawn; every eighth or so fits."
)
@click.option("--runs", default=6, show_default=True, help="Runs of each, in each engine; at least 2.")
def main(draw: str, points: int, runs: int) -> None:
    """Print a line per scenario, and the number of scenarios that agree."""
    chosen = cases(draw, points)
    found = []
    for engine in ENGINES:
        tasks = [task(case, STOCK, engine, number) for case in chosen for number in range(1, runs + 1)]
        with Progress(engine) as progress:
            found.append(frame(tasks, read, engine=engine, progress=progress.update))
    apart, halves, goodput = [], [], []
    for case in chosen:
        both = [some.filter(case=case.id) for some in found]
        mine, kernel = (some["share"].to_list() for some in both)
        apart.append(abs(fmean(mine) - fmean(kernel)))
        halves.append(abs(fmean(kernel[::2]) - fmean(kernel[1::2])))
        rates = [fmean(some["goodput"]) for some in both]
        goodput.append(100 * abs(rates[0] / rates[1] - 1))
        print(
            f"{case.id}  share {fmean(mine):5.1f} %, kernel {fmean(kernel):5.1f} %  "
            f"goodput {rates[0] / 1e6:6.2f} and {rates[1] / 1e6:6.2f} Mbit/s  {case.title}"
        )
    print(
        f"{len(chosen)} scenarios, {runs} runs each: "
        f"shares within {NEAR:.0f} points in {sum(one <= NEAR for one in apart)} (median {median(apart):.1f}), "
        f"the kernel's own halves in {sum(one <= NEAR for one in halves)} "
        f"(median {median(halves):.1f}); goodput differs by {median(goodput):.1f} % in the median"
    )


if __name__ == "__main__":
    main()
