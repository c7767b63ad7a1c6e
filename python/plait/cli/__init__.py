"""The `plait` command."""

from __future__ import annotations

import os
from typing import NoReturn

import click

from plait.cli.errors import guarded
from plait.cli.groups import LazyGroup, Place
from plait.support.progress import Progress

COMMANDS = {
    "run": Place("run:run", "Run scenario files and print their metrics."),
    "compare": Place("run:compare", "Compare schedulers on one scenario."),
    "advise": Place(
        "advise:advise",
        "Recommend a scheduler and a buffer for your links, and judge if a second path is worth it.",
    ),
    "init": Place("init:init", "Write a commented scenario file over common links, for your corrections."),
    "keys": Place(
        "keys:list_keys",
        "List the keys of scenario files, with their values, defaults and meanings.",
    ),
    "measure": Place("measure:measure", "Turn measurements of a link into a path NAME for plait advise."),
    "explain": Place(
        "explain:explain",
        "Explain decisions: the facts of the scheduler, and which paths could send.",
    ),
    "play": Place(
        "play:play",
        "Write a page that simulates FILE in a browser, with sliders, and open it; it needs no network.",
    ),
    "reproduce": Place("reproduce:reproduce", "Reproduce a paper, or all that the engine can."),
    "schedulers": Place(
        "catalogue:list_schedulers",
        "List the built-in schedulers with parameters and sources, and the options of all schedulers.",
    ),
    "bound": Place(
        "bound:bound", "Print bounds of FILE's metrics that no scheduler beats, the tightest one first."
    ),
    "oracle": Place("oracle:oracle", "Search the best schedule of FILE with knowledge of the future."),
    "model": Place("model:model", "Closed formulas: blocking, buffer, asymmetry."),
    "sweep": Place("sweep:sweep", "Make the missing runs of PLAN's dataset."),
    "analyze": Place("analyze:analyze_command", "Compare the schedulers of a sweep's DATASET."),
    "bench": Place(
        "bench:bench",
        "Judge each SCHEDULER on Plait's fixed suite of networks, against all results that are stored.",
    ),
    "plot": Place(
        "plot:plot", "Draw a metric of a sweep's dataset, or of results, in FOLDER, as papers print it."
    ),
    "report": Place("report:report", "Write one HTML page about runs or a sweep; it needs no network."),
    "bundle": Place("bundle:bundle", "Pack results, with all files for their repetition, into one archive."),
    "rerun": Place("bundle:rerun", "Repeat the runs of BUNDLE, and compare the bytes."),
    "send": Place(
        "transfers:send", "Send files and folders to a receiver, over one path from each local address."
    ),
    "replay": Place(
        "replay:replay",
        "Run a recorded transfer again in the simulator, and print the differences.",
    ),
    "recv": Place("transfers:recv", "Receive files into a folder from senders that have the secret."),
    "proxy": Place(
        "transfers:proxy",
        "Carry TCP connections and UDP datagrams over several paths to the far end (--serve).",
    ),
    "link": Place(
        "link:link", "Run a command on the links of SCENARIO: an interface per path, without root."
    ),
    "linux": Place("linux:linux", "The real kernel's MPTCP, in virtual time, without being root."),
    "usrsctp": Place("usrsctp:usrsctp", "FreeBSD's SCTP stack, in virtual time, without being root."),
    "validate": Place("validate:validate", "Compare the simulator with other engines."),
    "completion": Place(
        "completion:completion",
        "Print a script with which SHELL completes commands, options and choices of plait.",
    ),
}
"""The commands in the order of the help text, each with the first sentence of its own help."""

COMPLETING = "_PLAIT_COMPLETE"
"""The environment variable by which a shell asks for completions; click's convention."""


@click.group(cls=LazyGroup, places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quiet", is_flag=True, help="Show no progress bars.")
@click.version_option(package_name="plait", prog_name="plait")
def cli(quiet: bool) -> None:
    """Packet scheduling over several paths: run, compare and reproduce.

    \b
    plait reproduce daps-icc14                        a paper, with figures
    plait compare links.toml --schedulers all         schedulers on your links
    plait advise --path "dsl 16Mbit 25ms" --path …    advice for your links
    plait init --preset dsl,lte -o links.toml         a scenario file to begin with
    plait run links.toml --scheduler daps --out out   one run, with figures
    plait explain links.toml --at 1.2s                one decision, and why
    plait play links.toml                             in a browser, with sliders
    plait report out -o report.html                   the results of --out, as a page
    plait run links.toml --engine linux               in the real kernel (plait linux build once)
    plait link links.toml -- COMMAND                  any program on these links
    plait sweep plan.toml                             many runs, into a dataset
    plait analyze results/plan                        their analysis, with intervals
    plait plot results/plan --x rtt --metric goodput -o fig.pdf
    plait bundle results/plan                         an archive for plait rerun plan.zip
    plait recv --out inbox                            on the other machine; prints the next command
    plait send video.mkv HOST:4433 --fingerprint …    a file over all interfaces at once
    plait replay FOLDER                               a transfer of --record FOLDER, simulated
    plait proxy HOST:4433 --socks 127.0.0.1:1080 …    TCP connections over all interfaces
    plait validate linux                              simulator against kernel
    """  # noqa: D301  click wants the character, not its escape
    Progress.quiet = quiet


def main() -> NoReturn:
    """Run the command and leave the process with its exit status."""
    if COMPLETING in os.environ:
        cli.main(prog_name="plait")  # click answers the shell, and leaves
    guarded(lambda: cli.main(standalone_mode=False))


__all__ = ["cli", "main"]
