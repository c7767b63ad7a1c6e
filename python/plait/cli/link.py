"""`plait link`: a scenario's links for any program."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import click

from plait._core import RunError
from plait.cli.errors import Ended
from plait.cli.options import SEED, excludes
from plait.cli.output import say
from plait.scenarios.units import duration_ns
from plait.support.progress import Progress

SMALLEST_MTU, LARGEST_MTU = 576, 65_535
"""The smallest packet that every host must accept (RFC 791), and the largest packet of IP."""


@click.command()
@click.argument("scenario", metavar="SCENARIO", type=click.Path())
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option(
    "--server",
    metavar="LINE",
    help="Run this line of sh at the far end; the command starts when it listens.",
)
@click.option(
    "--wait", "patience", default="5s", show_default=True, help="Longest time until the server listens."
)
@click.option(
    "--mtu",
    type=click.IntRange(SMALLEST_MTU, LARGEST_MTU),
    default=1500,
    show_default=True,
    help="The interfaces' largest packet, in bytes of IP.",
)
@click.option("--mptcp", is_flag=True, help="Let the kernel's MPTCP use every path (needs the program ip).")
@click.option(
    "--udp",
    metavar="ADDRESS:PORT",
    help="Without namespaces: relay UDP from loopback addresses to this address; without a command, until Ctrl-C.",
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="The relay's port (with --udp); default: a free one."
)
@click.option(
    "--spin",
    default="0ns",
    show_default=True,
    help="Poll the clock for this long before a packet is due, instead of sleeping: punctual, but takes a core.",
)
@click.option("--summary", is_flag=True, help="Print the fate of every path's packets at the end.")
@SEED
def link(
    scenario: str,
    command: tuple[str, ...],
    server: str | None,
    patience: str,
    mtu: int,
    mptcp: bool,
    udp: str | None,
    port: int | None,
    spin: str,
    summary: bool,
    seed: int | None,
) -> None:
    """Run a command on the links of SCENARIO: an interface per path, without root.

    The command runs in a network namespace with one interface per path. The other ends of the paths
    are in a second namespace, where --server runs. Addresses are printed, and are in the
    environment: PLAIT_PEER is the far end over any path, and PLAIT_ADDRESS_0, PLAIT_INTERFACE_0,
    PLAIT_PEER_0, … are those of each path. A command of one word with spaces is a line for sh.
    Without a command, a shell starts. The exit status is that of the command.

    \b
    plait link links.toml                                               a shell on the links
    plait link links.toml --server 'iperf3 -s' -- 'iperf3 -c $PLAIT_PEER'
    plait link links.toml --udp 127.0.0.1:4433 -- COMMAND               UDP on loopback
    """  # noqa: D301  click wants the character, not its escape
    if not sys.platform.startswith("linux"):
        message = f"plait link on {sys.platform}: links for programs need Linux"
        raise RunError(message)
    waiting, spinning = duration_ns(patience), duration_ns(spin)
    before, began = time.process_time(), time.monotonic()
    if udp is not None:
        excludes("--udp", udp, server=server, mptcp=mptcp)
        outcome = _relay(scenario, command, udp, port or 0, spinning, seed)
    else:
        if port is not None:
            message = "--port needs --udp"
            raise click.UsageError(message)
        outcome = _namespaces(scenario, command, server, waiting, mtu, mptcp, spinning, seed)
    if summary:
        for row in outcome["counters"]:
            say(_line(row))
        say(
            f"processor time of the links: {time.process_time() - before:.2f} s of {time.monotonic() - began:.2f} s"
        )
    raise Ended(outcome["status"])


def _namespaces(
    scenario: str,
    command: tuple[str, ...],
    server: str | None,
    patience: int,
    mtu: int,
    mptcp: bool,
    spin: int,
    seed: int | None,
) -> Any:
    """Run the command between namespaces, and print the addresses first."""
    from plait._core import link_plan, link_run

    _announce(json.loads(link_plan(scenario)), "")
    words = _words(command) or [os.environ.get("SHELL", "/bin/sh")]
    ended = link_run(
        scenario, words, seed=seed, server=server, patience=patience, mtu=mtu, mptcp=mptcp, spin=spin
    )
    return json.loads(ended)


def _relay(
    scenario: str, command: tuple[str, ...], target: str, port: int, spin: int, seed: int | None
) -> Any:
    """Run the command beside a relay on loopback; without a command, relay until an interrupt."""
    from plait._core import LinkSockets

    sockets = LinkSockets(scenario, target, port=port, seed=seed)
    _announce(json.loads(sockets.plan()), f":{sockets.port()}")
    return json.loads(sockets.run(_words(command), spin=spin))


def _words(command: tuple[str, ...]) -> list[str]:
    """Return the command and its arguments; one word with spaces is a line for sh."""
    if len(command) == 1 and any(one.isspace() for one in command[0]):
        return ["sh", "-c", command[0]]
    return list(command)


def _announce(plan: Any, port: str) -> None:
    """Print the addresses of every path."""
    if Progress.quiet:
        return
    for end in plan["ends"]:
        name = end["interface"]
        interface = "" if name in ("lo", end["path"]) else f" (interface {name})"
        say(f"{end['path']}{interface}: {end['near']} to {end['far']}{port}")
    say(f"over any path: {plan['peer']}{port}")


def _line(row: Any) -> str:
    """Describe the outcome of the packets of one direction of a path."""
    gone = ", ".join(f"{row[one]} {one}" for one in ("copied", "lost", "dropped", "marked") if row[one])
    through = f"{row['sent']} packets, {row['arrived']} arrived ({row['arrived_bytes']} bytes)"
    return f"{row['path']} {row['direction']}: {through}{', ' if gone else ''}{gone}"
