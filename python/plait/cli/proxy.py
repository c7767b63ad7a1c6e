"""`plait proxy`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from plait import _core
from plait.cli.output import say
from plait.cli.paths import chosen, costs, pairs, path_options, told
from plait.cli.transfers import LINES, SECRET, announce, clear, print_line, show_line
from plait.recordings import RECORDING
from plait.scenarios.scheduler import Override, override, parse_choice
from plait.scenarios.units import size_bytes
from plait.support.files import make_folder
from plait.support.progress import Progress
from plait.transfers.receiver import LISTEN, WINDOW
from plait.transfers.report import PathProgress

SOCKS = "127.0.0.1:1080"
SERVING = {
    "listen",
    "allow",
    "window",
    "congestion",
    "mtu",
    "name",
    "redundant",
    "record",
    "secret",
    "as_json",
}
"""Parameters that mean something with --serve."""
ALONE = {"listen", "allow", "window"}
"""Those that mean nothing without it."""


@click.command()
@click.argument("to", metavar="[HOST:PORT]", required=False)
@click.option(
    "--fingerprint", metavar="HEX", help="The SHA-256 of the other end's certificate, which it prints."
)
@SECRET
@click.option(
    "--socks",
    metavar="ADDR:PORT",
    help=f"Where to speak SOCKS5 (CONNECT, no authentication); default: {SOCKS}, unless something is forwarded.",
)
@click.option(
    "--forward",
    multiple=True,
    metavar="ADDR:PORT=HOST:PORT",
    help="Connections taken at ADDR:PORT lead to HOST:PORT, as the other end sees it; may be repeated.",
)
@click.option(
    "--interactive",
    multiple=True,
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Connections to this port go before others; may be repeated.",
)
@click.option(
    "--redundant-port",
    multiple=True,
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Connections to this port go before all others and on every path, there and back: for shells, games, voice; "
    "may be repeated.",
)
@path_options
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write down what this end sends; report and explain read it. It ends when the other end is lost; with --serve "
    "it is of the first that comes.",
)
@click.option("--serve", is_flag=True, help="Be the other end: make connections for who knows the secret.")
@click.option(
    "--listen",
    default=LISTEN,
    show_default=True,
    metavar="ADDR:PORT",
    help="Where the other end listens; port 0 is any that is free.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="HOST:PORT",
    help="Where connections may lead, each of both may be *; nowhere else. * is no host of the machine's own.",
)
@click.option(
    "--window",
    type=int,
    default=WINDOW,
    show_default=True,
    metavar="BYTES",
    help="What may be on its way to the other end, or wait for what is missing.",
)
@LINES
@click.pass_context
def proxy(
    context: click.Context,
    to: str | None,
    fingerprint: str | None,
    secret: str | None,
    socks: str | None,
    forward: tuple[str, ...],
    interactive: tuple[int, ...],
    redundant_port: tuple[int, ...],
    local: tuple[str, ...],
    interface: tuple[str, ...],
    cost: tuple[str, ...],
    budget: tuple[str, ...],
    backup: tuple[str, ...],
    name: str | None,
    redundant: bool,
    congestion: str,
    mtu: int,
    record: Path | None,
    serve: bool,
    listen: str,
    allow: tuple[str, ...],
    window: int,
    as_json: bool,
) -> None:
    """Carry TCP connections over several network interfaces at once.

    Programs connect here, by SOCKS5 or to a forwarded port. The other end, `plait proxy --serve` or `plait-quic proxy
    --serve`, connects to where they want to go, as far as its --allow says, and prints HOST:PORT, its fingerprint and
    the secret.
    """
    _check(context, serve)
    choice = override(parse_choice(chosen(name, redundant)))
    if record is not None:
        if choice.label == "auto":
            message = "--record is of one scheduler, and auto changes it: name one"
            raise click.UsageError(message)
        make_folder(record)
    recording = None if record is None else (record / RECORDING, choice.label or "")
    if serve:
        if choice.built_in is None:
            message = "--serve --scheduler: choose a built-in one"
            raise click.UsageError(message)
        end = _core.Exit(
            listen=listen,
            allow=list(allow),
            secret=secret or None,
            scheduler=choice.built_in,
            congestion=congestion,
            window=window,
            mtu=mtu,
            record=recording,
        )
        with _kept(record, choice):
            _serve(end, bool(allow), as_json)
        return
    if to is None or fingerprint is None:
        message = "HOST:PORT and --fingerprint are needed, or --serve"
        raise click.UsageError(message)
    entrance = _core.Entrance(
        to,
        fingerprint=fingerprint,
        secret=told(secret),
        local=list(local),
        interface=list(interface),
        cost=costs(cost),
        budget={path: size_bytes(size) for path, size in pairs("--budget", budget).items()},
        backup=list(backup),
        congestion=congestion,
        mtu=mtu,
        socks=socks or (None if forward else SOCKS),
        forward=list(forward),
        interactive=list(interactive),
        redundant=list(redundant_port),
        record=recording,
    )
    if as_json:
        forwards = [{"listen": address, "target": target} for address, target in entrance.forwards]
        print_line(
            {"event": "listening", "socks": entrance.socks, "forwards": forwards, "paths": entrance.paths}
        )
    else:
        places = [f"SOCKS5 at {entrance.socks}"] if entrance.socks else []
        places += [f"{address} leads to {target}" for address, target in entrance.forwards]
        click.echo("\n".join(places))
    try:
        with _kept(record, choice):
            entrance.run(
                lambda text: _hear(json.loads(text), as_json),
                scheduler=choice.built_in,
                python_scheduler=choice.python,
                foreign=choice.foreign,
            )
    finally:
        clear()


@contextmanager
def _kept(folder: Path | None, choice: Override) -> Iterator[None]:
    """Whatever ends it, what was recorded becomes a folder of results."""
    try:
        yield
    finally:
        if folder is not None:
            from plait.recordings.keeping import keep_recording

            try:
                keep_recording(folder, choice.document)
            except _core.ScenarioError as error:
                say(f"plait: nothing is kept of the recording: {error}")


def _check(context: click.Context, serve: bool) -> None:
    """Options of the other end."""
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        key = parameter.name or ""
        if context.get_parameter_source(key) is not given or key == "serve":
            continue
        if (serve and key not in SERVING) or (not serve and key in ALONE):
            label = "HOST:PORT" if key == "to" else parameter.opts[0]
            message = f"{label} is {'not for' if serve else 'for'} --serve"
            raise click.UsageError(message)


def _serve(end: _core.Exit, allows: bool, as_json: bool) -> None:
    """The other end's life."""
    announce(end, "plait proxy", as_json)
    if not allows:
        say("plait: no connection is allowed: choose --allow HOST:PORT")

    def hear(text: str) -> None:
        event = json.loads(text)
        if as_json:
            print_line(event)
        elif not Progress.quiet:
            say(_words(event))

    end.run(hear)


def _hear(event: dict[str, object], as_json: bool) -> None:
    """What happens at this end."""
    if as_json:
        if event["event"] != "progress" or not Progress.quiet:
            print_line(event)
    elif event["event"] == "progress":
        _show(event)
    else:
        clear()
        say(_words(event))


def _show(event: dict[str, object]) -> None:
    """How it stands, as a line."""
    paths = event["paths"]
    assert isinstance(paths, list)
    there, back = (float(str(event[key])) / 1e6 for key in ("sent_bytes", "received_bytes"))
    words = f"{event['connections']} connections, {there:.1f} MB there, {back:.1f} MB back"
    show_line(words, (PathProgress(**path) for path in paths))


def _words(event: dict[str, object]) -> str:
    """An event for people."""
    words = {
        "open": "the other end is there",
        "came": f"{event.get('from')} has connected",
        "left": f"a peer is gone: {event.get('reason')}",
        "connected": f"{event.get('target')}: connected",
        "scheduler": str(event.get("reason")),
        "unrecorded": f"plait: the recording is not whole: {event.get('error')}",
        "lost": f"plait: {event.get('error')}; the other end is looked for again",
    }
    return words.get(str(event["event"]), f"{str(event.get('target'))!a}: {event.get('reason')}")
