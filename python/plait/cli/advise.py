"""`plait advise`: which scheduler, which buffer, and whether a second path is worth it."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click

from plait.advice.choices import CONTROLS, DIRECTIONS, PROTOCOLS, RECEIVE_BUFFER, Direction
from plait.advice.traffic import FORMS
from plait.cli.options import JSON, THREADS
from plait.cli.output import print_json, say
from plait.cli.sheet import console
from plait.support.files import whole_file


@click.command()
@click.option(
    "--path",
    "paths",
    multiple=True,
    required=True,
    metavar='"NAME RATE RTT [LOSS] [KEY=VALUE…]"',
    help="A path, such as 'lte 30Mbit 60ms 1%', 'lte trace=FILE 40ms' or a preset such as 'dsl'. Repeat it for each "
    "path. Connections begin on the first one. Ranges: rtt=25-60ms. Keys: queue=50p (fq_codel where a router "
    "shapes), jitter=5ms, loss=burst:1%:10, outage=60s:3s (fails every 60 s, for 3 s), back=1Mbit or "
    "back-trace=FILE (other direction), cost=1 and cap=50GB (metered), preset=lte.",
)
@click.option("--traffic", default="bulk", show_default=True, metavar="TRAFFIC", help=f"{FORMS}.")
@click.option(
    "--metric",
    metavar="METRIC",
    help="The judged metric: goodput (bulk) or time (file). For the delay of packets or blocks, the latency of "
    "requests and the time of downloads (flows): mean, p50, p95, p99, max.  [default: goodput, time, or p95]",
)
@click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default=DIRECTIONS[0],
    show_default=True,
    help="Direction of the data. The rate of up is back=.",
)
@click.option(
    "--receive-buffer",
    default=RECEIVE_BUFFER,
    show_default=True,
    help="The receiver's buffer, such as 256kB.",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PROTOCOLS[0],
    show_default=True,
    help="mptcp is as in Linux.",
)
@click.option(
    "--congestion",
    type=click.Choice(list(CONTROLS)),
    default="cubic",
    show_default=True,
    help="Congestion control of TCP and MPTCP.",
)
@click.option(
    "--schedulers",
    "names",
    metavar="A,B,C",
    help="Only these built-in schedulers, with options (+rp, +bm) and parameters.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="Seed of variations and losses.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="Write the input as a scenario file, for run and compare.",
)
@JSON
@THREADS
def advise(
    paths: tuple[str, ...],
    traffic: str,
    metric: str | None,
    direction: Direction,
    receive_buffer: str,
    protocol: str,
    congestion: str,
    names: str | None,
    seed: int,
    save: Path | None,
    as_json: bool,
    threads: int,
) -> None:
    """Recommend a scheduler and a buffer for your links, and judge if a second path is worth it.

    Simulates every scheduler over variations of the given links, and the best ones over more, in seconds.

    \b
    plait advise --path dsl --path starlink
    plait advise --path "dsl 16Mbit 25ms" --path "lte 30Mbit 40-80ms loss=burst:1%:10"
    plait advise --path "dsl 16Mbit 25ms" --path "lte 30Mbit 60ms" --traffic blocks:2Mbit --receive-buffer 256kB
    plait advise --path dsl --path lte --traffic request-response:60kB:6 --metric p99
    plait advise --path dsl --path "lte cap=50GB" --traffic flows:20
    plait advise --path cable --path lte --traffic blocks:1Mbit+upload --direction up
    """  # noqa: D301  click wants the character, not its escape
    from plait.advice.reading import parse_paths
    from plait.advice.traffic import parse_traffic

    # Report mistyped options before loading modules that take seconds.
    known, _ = parse_paths(paths), parse_traffic(traffic, metric)

    from plait.advice import advise as make_advice
    from plait.advice.document import scenario_file
    from plait.advice.page import WIDTH, page

    # Open the file first: an error after seconds of simulation would come too late.
    with nullcontext() if save is None else whole_file(save) as file:
        advice = make_advice(
            known,
            traffic,
            receive_buffer,
            protocol=protocol,
            congestion=congestion,
            schedulers=None if names is None else [name.strip() for name in names.split(",") if name.strip()],
            seed=seed,
            metric=metric,
            direction=direction,
            threads=threads,
        )
        if file is not None:
            file.write_text(scenario_file(advice), encoding="utf-8")
    if save is not None:
        say(f"wrote {save}: plait compare {save} --schedulers all")
    if as_json:
        print_json(advice.document())
    elif sys.stdout.isatty():
        width = min(console().width, WIDTH)
        console().print(page(advice, width), width=width, crop=False)
    else:
        click.echo(advice.text)
