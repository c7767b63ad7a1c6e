"""Compares latencies of requests in the simulator and the kernel, on drawn cases.

A case is run with several seeds on both engines. Each seed draws sizes, think times, losses and
delays (`plait.scenarios.repetition`) anew, the same for both engines. A case's means over its seeds
are compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from plait.runs.experiment import frame, grid
from plait.scenarios.scenario import Scenario
from plait.scenarios.topology import Path
from plait.scenarios.transport import Transport
from plait.scenarios.workloads import RequestResponse
from plait.support.progress import part

SCHEDULERS = ("lowest-rtt", "round-robin", "delivery-delay", "redundant")
MEASURES = ("mean", "p50", "p90")
MOST_MEDIAN, MOST_P90 = 3.0, 15.0
"""Percent: largest allowed difference of mean latencies, for the median of the cases and for nine
tenths."""
FEWEST = 20
"""Requests of a run in the best case, from which the length of the run follows."""


@dataclass(frozen=True)
class RequestCase:
    """A drawn scenario, and its scheduler."""

    scenario: Scenario
    scheduler: str


@dataclass(frozen=True)
class LatencyDifference:
    """A case's latencies in milliseconds, by measure, in the kernel and in the simulator."""

    case: RequestCase
    kernel: dict[str, float]
    simulator: dict[str, float]

    def percent(self, measure: str) -> float:
        """Return the simulator's signed difference from the kernel in percent."""
        return 100 * (self.simulator[measure] / self.kernel[measure] - 1)


def draw(seed: int, points: int) -> list[RequestCase]:
    """Draw cases of one to three paths.

    They use TCP or MPTCP, sizes from 100 B to 1 MB, thinking up to 1 s, and 1 to 4 clients.
    """
    generator = random.Random(f"requests {seed}")
    return [_case(generator, f"requests-{number:03}") for number in range(1, points + 1)]


def _case(generator: random.Random, name: str) -> RequestCase:
    def log(least: float, most: float) -> float:
        return float(least * (most / least) ** generator.random())

    count = generator.choice((1, 1, 2, 2, 3))
    lossy = generator.random() < 0.3
    paths, sums = [], 0.0
    longest = 0.0
    for number in range(count):
        rate, rtt, depth = log(2, 50), log(5, 200), log(0.5, 3)
        loss = log(0.01, 1) if lossy else 0.0
        sums, longest = sums + rate, max(longest, rtt)
        paths.append(
            Path(
                name=f"path{number + 1}",
                rate=f"{rate:.3g}Mbit",
                rtt=f"{rtt:.3g}ms",
                queue=f"{max(10, round(depth * rate * rtt / 12))}p",
                loss=f"{loss:.3g}%",
            )
        )
    request, response = round(log(100, 1e5 if generator.random() < 0.8 else 1e6)), round(log(100, 1e6))
    think = 0 if generator.random() < 0.25 else log(1, 1000)
    parallel = generator.choice((1, 1, 2, 3, 4))
    least = think + longest + (request + response) * parallel * 8e-3 / sums
    seconds = min(60, max(10, FEWEST * least / 1000))
    buffer = round(log(200, 4000))
    scenario = Scenario(
        name=name,
        duration=f"{seconds:.0f}s",
        transport=Transport(
            protocol="tcp" if count == 1 and generator.random() < 0.5 else "mptcp",
            profile="linux",
            receive_buffer=f"{buffer}kB",
            congestion_control=generator.choice(("cubic", "newreno")),
        ),
        workload=RequestResponse(
            request=request,
            response=response,
            sizes=generator.choice(("fixed", "exponential")),
            think=f"{think:.3g}ms",
            think_times=generator.choice(("fixed", "exponential")),
            parallel=parallel,
            start="500ms",
        ),
        paths=paths,
    )
    return RequestCase(scenario, generator.choice(SCHEDULERS) if count > 1 else SCHEDULERS[0])


def measure(
    cases: Sequence[RequestCase], seeds: int, progress: Callable[[float], None] = lambda _share: None
) -> list[LatencyDifference]:
    """Run every case on both engines.

    Raises:
        RunError: a run failed.
    """
    tasks = [
        task
        for number, case in enumerate(cases)
        for task in grid(case.scenario, [case.scheduler], range(1, seeds + 1), {"case": number}, perturb=True)
    ]
    names = {name: f"request_latency_ms.{name}" for name in MEASURES}
    kernel = frame(tasks, [*names.values()], engine="linux", progress=part(progress, 0.0, 0.9))
    simulator = frame(tasks, [*names.values()], progress=part(progress, 0.9, 1.0))
    found = []
    for number, case in enumerate(cases):
        means = []
        for runs in (kernel.filter(case=number), simulator.filter(case=number)):
            some = {name: runs[column].drop_nulls() for name, column in names.items()}
            means.append({name: fmean(values) for name, values in some.items() if len(values)})
        if all(set(one) == set(MEASURES) for one in means):
            found.append(LatencyDifference(case, *means))
    return found


def percentiles(found: Sequence[LatencyDifference], name: str) -> tuple[float, float]:
    """Return the median and the 90th percentile of the differences without sign, in percent."""
    sizes = [abs(one.percent(name)) for one in found]
    return float(np.percentile(sizes, 50)), float(np.percentile(sizes, 90))
