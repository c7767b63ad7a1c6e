"""Options of the end that opens paths: `plait send`, and the near end of `plait proxy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from plait.transfers.sender import MTU

DEFAULT = "lowest-rtt"

_Decorated = TypeVar("_Decorated", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--local",
        multiple=True,
        metavar="ADDR[%INTERFACE]",
        help="A local address to send from, a path; may be repeated. "
        "%INTERFACE: leaving there whatever the routes prefer.",
    ),
    click.option(
        "--interface",
        multiple=True,
        metavar="NAME",
        help="An interface to send from, a path; repeatable. "
        "Default: all that are up, the loopback one to this machine.",
    ),
    click.option(
        "--cost",
        multiple=True,
        metavar="PATH=NUMBER",
        help="What a path costs, for schedulers that look at it: cheapest-first. PATH is an interface or an address.",
    ),
    click.option(
        "--budget",
        multiple=True,
        metavar="PATH=SIZE",
        help="How much a path may carry, copies included, for example wwan0=500MB.",
    ),
    click.option(
        "--backup", multiple=True, metavar="PATH", help="A path that is used only while no other works."
    ),
    click.option(
        "--scheduler",
        "name",
        metavar="NAME",
        help=f"NAME, NAME:parameter=value:…, FILE.py:CLASS:… or LIBRARY.so:CLASS:…, or auto: the simulator is asked "
        f"while it runs; default: {DEFAULT}.",
    ),
    click.option("--redundant", is_flag=True, help="Every packet on every path: --scheduler redundant."),
    click.option("--congestion", default="cubic", show_default=True, help="Congestion control of each path."),
    click.option(
        "--mtu",
        type=int,
        default=MTU,
        show_default=True,
        metavar="BYTES",
        help="A UDP datagram's payload; every path has to carry it.",
    ),
)


def path_options(command: _Decorated) -> _Decorated:
    """A command with the options of paths: local, interface, cost, budget, backup, name, redundant, congestion, mtu."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen(name: str | None, redundant: bool) -> str:
    """The scheduler that --scheduler or --redundant names."""
    if redundant and name is not None:
        message = "--redundant and --scheduler exclude each other"
        raise click.UsageError(message)
    return "redundant" if redundant else name or DEFAULT


def told(secret: str | None) -> str:
    """A secret that is this end's to say."""
    if not secret:
        message = "a secret is needed: --secret or PLAIT_SECRET, as the receiver prints it"
        raise click.UsageError(message)
    return secret


def costs(texts: tuple[str, ...]) -> dict[str, int]:
    """What paths cost, by their names."""
    return {name: _number(text) for name, text in pairs("--cost", texts).items()}


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """PATH=VALUE of an option, by path."""
    pairs = [text.rpartition("=") for text in texts]
    for text, (path, _, _) in zip(texts, pairs, strict=True):
        if not path:
            message = f"{option} {text!r}: expected PATH={'NUMBER' if option == '--cost' else 'SIZE'}"
            raise click.UsageError(message)
    return {path: value for path, _, value in pairs}


def _number(text: str) -> int:
    """What a path costs."""
    if not text.isdecimal():
        message = f"--cost: expected PATH=NUMBER, got {text!r}"
        raise click.UsageError(message)
    return int(text)
