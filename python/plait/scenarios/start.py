"""An initial scenario for `plait init`: common links in a file with explanations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from plait._core import ScenarioError
from plait.scenarios.presets import PRESETS, Preset, preset
from plait.scenarios.text import pairs
from plait.support.files import free_name
from plait.support.words import expected

WIDTH = 100
"""Columns of the file's comments."""

HEAD = """\
# A scenario for plait: plait compare FILE --schedulers all
# The numbers are typical: replace them with yours. Lines that begin with # are further choices.
# `plait keys` lists all keys, and `plait keys SECTION` explains them.
duration = "30s"                    # duration of the run
warmup = "5s"                       # the metrics exclude this beginning
seed = 1                            # another seed has other losses
scheduler = "lowest-rtt"            # plait schedulers

[transport]
protocol = "mptcp"                  # or "tcp" (one path), "mpquic", "cmt-sctp"
profile = "linux"                   # or "standard": TCP by the RFCs, with NewReno
congestion_control = "cubic"        # or "newreno", "bbr", "lia", "olia", "balia"
receive_buffer = "6MiB"             # the default maximum of Linux

[workload]
kind = "bulk"                       # endless data; or one of these:
# kind = "file"
# size = "10MB"
# kind = "request-response"
# response = "60kB"
"""
PATH = """\
# loss = "0.1%"                     # independent losses; on radio links they come in bursts: plait keys loss
# outages = [{ from = "10s", to = "12s" }]
# cost = 1                          # for schedulers that consider costs: plait schedulers
"""


def start_text(names: Sequence[str]) -> str:
    """Return a commented scenario file with these presets; a repeated name makes two paths.

    Raises:
        ScenarioError: a preset does not exist, or none is named.
    """
    if not names:
        message = f"presets: none is named{expected('', list(PRESETS))}"
        raise ScenarioError(message)
    taken: set[str] = set()
    chosen = [(free_name(name, taken), preset(name)) for name in names]
    return "\n".join([HEAD, *(line for name, one in chosen for line in _path(name, one))]) + PATH


def _path(name: str, one: Preset) -> Iterator[str]:
    yield f"# {one.title}: {one.note}."
    yield "# Measure yours: plait measure --help. Sources of the numbers:"
    for source in one.sources:
        yield from textwrap.wrap(
            source,
            WIDTH,
            initial_indent="# - ",
            subsequent_indent="#   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    yield "[[path]]"
    yield from pairs(one.table(name))
    yield ""
