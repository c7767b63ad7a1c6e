"""`plait model`: the closed formulas."""

from __future__ import annotations

import click

from plait._core import ScenarioError
from plait.cli.options import JSON
from plait.cli.output import print_json
from plait.scenarios.models import PathModel, asymmetry, max_blocking_ms, min_receive_buffer_bytes
from plait.scenarios.units import size_bytes

PATHS = click.option(
    "--path",
    "texts",
    multiple=True,
    required=True,
    metavar="RATE/RTT",
    help="A path, such as 10Mbit/20ms; repeat it for each path.",
)


@click.group(no_args_is_help=False)
def model() -> None:
    """Closed formulas: blocking, buffer, asymmetry."""


@model.command(short_help="Longest time a packet waits for in-order delivery.")
@PATHS
@click.option("--packet", default="1500B", show_default=True, help="Packet size on the wire.")
@JSON
def blocking(texts: tuple[str, ...], packet: str, as_json: bool) -> None:
    """Longest time a packet waits for in-order delivery: r_s/2 + 8L/c_s − r_f/2 − 8L/c_f."""
    paths = _paths(texts)
    try:
        size_bytes(packet)
    except ScenarioError as error:
        message = f"--packet: {error}"
        raise ScenarioError(message) from error
    value = max_blocking_ms(paths, packet)
    document = {
        "model": "blocking",
        "paths": list(texts),
        "packet_bytes": size_bytes(packet),
        "max_blocking_ms": value,
    }
    _print(document, f"{value:.3f} ms", as_json)


@model.command(short_help="Receive buffer that never limits the sender.")
@PATHS
@JSON
def buffer(texts: tuple[str, ...], as_json: bool) -> None:
    """Receive buffer for the sum of the rates over the longest round-trip time: Σc · max r."""
    value = min_receive_buffer_bytes(_paths(texts))
    document = {"model": "buffer", "paths": list(texts), "min_receive_buffer_bytes": value}
    _print(document, f"{value / 1e3:g} kB", as_json)


@model.command("asymmetry", short_help="Ratio of two paths' bandwidth-delay products.")
@PATHS
@JSON
def asymmetry_command(texts: tuple[str, ...], as_json: bool) -> None:
    """Ratio of two paths' bandwidth-delay products: C1·RTT1/(C0·RTT0)."""
    value = asymmetry(_paths(texts))
    _print({"model": "asymmetry", "paths": list(texts), "asymmetry": value}, f"{value:.3g}", as_json)


def _paths(texts: tuple[str, ...]) -> list[PathModel]:
    """Read RATE/RTT; the rate itself may end in /s."""
    paths = []
    for text in texts:
        rate, slash, rtt = text.rpartition("/")
        if not slash:
            message = f"--path {text!r}: expected RATE/RTT, such as 10Mbit/20ms"
            raise ScenarioError(message)
        path = PathModel(rate, rtt)
        try:
            _ = path.bits_per_second, path.rtt_ns
        except ScenarioError as error:
            message = f"--path {text!r}: {error}"
            raise ScenarioError(message) from error
        paths.append(path)
    return paths


def _print(document: dict[str, object], text: str, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        click.echo(text)
