"""Uncoupled multipath TCP in csg-htsim and here: what paths deliver, and how fast each simulator is (``make htsim``).

Exit status: 0 every path's throughput agrees, 1 one does not, 2 csg-htsim or a compiler is missing.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from rich.console import Console
from rich.table import Table

import plait

HERE = Path(__file__).parent
REPOSITORY = "https://github.com/Broadcom/csg-htsim"
COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
PACKET = 1500
TOLERANCE = 0.03  # of a path's packets
Protocol = Literal["mptcp", "cmt-sctp"]
PROTOCOLS: tuple[Protocol, ...] = ("mptcp", "cmt-sctp")
JUDGED = (
    "mptcp"  # SACKs of CMT-SCTP report all paths, so that a long one is heard of sooner: another feedback
)


@dataclass(frozen=True)
class Case:
    """A transfer without end: links that are as fast in both directions, with drop-tail queues."""

    name: str
    seconds: int
    queue_packets: int
    threshold_bytes: int
    paths: tuple[tuple[int, int], ...]
    """Mbit/s and milliseconds of round trip."""

    def arguments(self) -> list[str]:
        numbers = [self.seconds, PACKET, self.queue_packets, self.threshold_bytes]
        return [str(number) for number in [*numbers, *(value for path in self.paths for value in path)]]

    def scenario(self, protocol: Protocol) -> plait.Scenario:
        return plait.Scenario(
            duration=f"{self.seconds}s",
            scheduler="lowest-rtt",
            transport=plait.Transport(
                protocol=protocol,
                profile="standard" if protocol in ("tcp", "mptcp") else None,
                receive_buffer="1GB",
                packet=PACKET,
                ack_every=1,
                initial_ssthresh=self.threshold_bytes,
            ),
            paths=[
                plait.Path(rate=f"{rate}Mbit", rtt=f"{round_trip}ms", queue=f"{self.queue_packets}p")
                for rate, round_trip in self.paths
            ],
        )


# Windows are small where packets are dropped: csg-htsim grows by whole bytes, which loses a fifth at 600 packets.
CASES = (
    Case("100/20 + 100/100, no drops", 20, 1000, 1_200_000, ((100, 20), (100, 100))),
    Case("20/20 + 20/40", 120, 50, 64_000, ((20, 20), (20, 40))),
    Case("10/20 + 10/100", 120, 50, 64_000, ((10, 20), (10, 100))),
    Case("10/20", 120, 30, 64_000, ((10, 20),)),
)


@dataclass(frozen=True)
class Run:
    """One run: packets that each path delivered, and millions of them per second of waiting."""

    delivered: tuple[int, ...]
    speed: float


def build(sources: Path, folder: Path) -> Path:
    """The driver, linked with the simulator's library."""
    subprocess.run(
        ["make", "-s", "-C", str(sources / "sim"), "libhtsim.a"], check=True, stdout=subprocess.DEVNULL
    )
    driver = folder / "driver"
    include, library = f"-I{sources / 'sim'}", str(sources / "sim" / "libhtsim.a")
    optimized = ["-O3", "-std=c++11", include]
    subprocess.run(["g++", *optimized, str(HERE / "driver.cpp"), library, "-o", str(driver)], check=True)
    return driver


def sources_in(folder: Path) -> Path:
    """csg-htsim at the commit that the numbers are of; fetched if it is not there."""
    if not (folder / "sim" / "Makefile").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", COMMIT], check=True)
    return folder


def theirs(driver: Path, case: Case) -> Run:
    lines = subprocess.run(
        [str(driver), *case.arguments()], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    delivered = tuple(int(line.split()[0]) for line in lines[:-1])
    return Run(delivered, sum(delivered) / float(lines[-1]) / 1e6)


def ours(case: Case, protocol: Protocol) -> Run:
    scenario = case.scenario(protocol)
    begin = time.perf_counter()
    result = plait.run(scenario)
    seconds = time.perf_counter() - begin
    payload = result.metrics["delivered_bytes"] / result.metrics["packets_delivered"]
    delivered = tuple(round(path["throughput_bps"] * case.seconds / 8 / payload) for path in result.paths)
    return Run(delivered, sum(delivered) / seconds / 1e6)


@click.command()
@click.option(
    "--sources",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path.home() / ".cache" / "plait" / "htsim",
    show_default=True,
    help="A checkout of csg-htsim; cloned there if it is not.",
)
@click.option(
    "--rounds", type=click.IntRange(1), default=5, show_default=True, help="Runs of each, in turns."
)
def main(sources: Path, rounds: int) -> None:
    """Run every case in csg-htsim and here, in turns."""
    for program in ("g++", "make", "git"):
        if shutil.which(program) is None:
            click.echo(
                f"make htsim: {program} is missing; on Debian: sudo apt-get install {program}", err=True
            )
            sys.exit(2)
    folder = HERE.parents[2] / "target" / "htsim"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        driver = build(sources_in(sources), folder)
    except subprocess.CalledProcessError as error:
        click.echo(
            f"make htsim: {' '.join(error.cmd)} failed; --sources takes a checkout of {REPOSITORY}", err=True
        )
        sys.exit(2)
    table = Table(
        "case", "simulator", "packets of each path", "M packets/s", "their speed", title="csg-htsim and Plait"
    )
    apart = 0
    for case in CASES:
        runs: dict[str, list[Run]] = {name: [] for name in ("csg-htsim", *PROTOCOLS)}
        for _ in range(rounds):
            runs["csg-htsim"].append(theirs(driver, case))
            for protocol in PROTOCOLS:
                runs[protocol].append(ours(case, protocol))
        reference = runs["csg-htsim"]
        for name, made in runs.items():
            shares = [
                mine / other - 1
                for mine, other in zip(made[0].delivered, reference[0].delivered, strict=True)
            ]
            apart += name == JUDGED and any(abs(share) > TOLERANCE for share in shares)
            packets = ", ".join(
                f"{count:,} ({share:+.1%})" if name != "csg-htsim" else f"{count:,}"
                for count, share in zip(made[0].delivered, shares, strict=True)
            )
            ratio = statistics.median(
                mine.speed / other.speed for mine, other in zip(made, reference, strict=True)
            )
            speed = statistics.median(run.speed for run in made)
            table.add_row(
                case.name if name == "csg-htsim" else "", name, packets, f"{speed:.2f}", f"{ratio:.2f} ×"
            )
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    click.echo(f"{apart} of {len(CASES)} cases of {JUDGED} differ by more than {TOLERANCE:.0%} on a path.")
    sys.exit(1 if apart else 0)


if __name__ == "__main__":
    main()
