"""`plait measure`: turns the output of ping and iperf3 into a path for `plait advise`."""

from __future__ import annotations

from pathlib import Path

import click

from plait._core import ScenarioError
from plait.cli.output import say

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("name")
@click.option(
    "--ping",
    "ping_file",
    type=FILE,
    required=True,
    help="Output of ping -i 0.2 -c 500 HOST, from Linux, BusyBox, macOS or Windows, in any language.",
)
@click.option("--iperf3", "down_file", type=FILE, help="Output of iperf3 -c HOST -R, with or without -J.")
@click.option("--iperf3-back", "up_file", type=FILE, help="The same without -R: the other direction.")
@click.option("--trace", type=FILE, help="A recording in Mahimahi's format, instead of --iperf3.")
def measure(
    name: str, ping_file: Path, down_file: Path | None, up_file: Path | None, trace: Path | None
) -> None:
    """Turn measurements of a link into a path NAME for plait advise.

    \b
    ping -i 0.2 -c 500 -I ADDRESS_LTE SERVER > ping.txt
    iperf3 -c SERVER -B ADDRESS_LTE -R -t 30 > down.txt
    plait advise --path "$(plait measure lte --ping ping.txt --iperf3 down.txt)" --path dsl
    """  # noqa: D301  click wants the character, not its escape
    from plait.advice import parse_path
    from plait.advice.measured import path_text, read_iperf3, read_ping, read_text, remarks

    if (down_file is None) == (trace is None):
        message = "a rate is needed: expected either --iperf3 FILE or --trace FILE"
        raise ScenarioError(message)
    ping = read_ping(read_text(ping_file), str(ping_file))
    down = None if down_file is None else read_iperf3(read_text(down_file), str(down_file))
    up = None if up_file is None else read_iperf3(read_text(up_file), str(up_file), back=True)
    text = path_text(name, ping, down=down, up=up, trace=trace)
    parse_path(text)
    for one in remarks(ping):
        say(f"note: {one}")
    click.echo(text)
