"""The log of decisions as qlog: JSON text sequences (RFC 7464), one event per decision.

The header is that of qlog's main schema (draft-ietf-quic-qlog-main-schema). The events have a
custom schema; `docs/capture.md` lists its fields.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import IO, Any

import polars as pl

from plait._core import ScenarioError
from plait.results.reasons import named, verdicts
from plait.results.result import Result
from plait.support.files import OutputError, whole_file

SUFFIXES = (".sqlog", ".qlog")
"""Endings of qlog file names; the first one is that of sequences."""
NAMESPACE = "urn:plait:qlog:events:scheduling"
"""The schema of the events."""
EVENT = "scheduling:decision"
"""The events' name: the last part of the namespace, and the kind of event."""
SEPARATOR = b"\x1e"
"""The first byte of every record of a sequence; a line feed ends it."""
MILLISECOND = 1_000_000
"""Nanoseconds in the unit of qlog's times."""
BATCH = 20_000
"""Maximum number of decisions in memory as text."""

CONNECTION = (
    "unassigned",
    "window_left",
    "window",
    "send_buffer_left",
    "oldest_unacked",
    "oldest_unacked_path",
)
"""Facts about the connection in an event: columns of `Result.decisions`."""


def write(result: Result, file: str | Path) -> None:
    """Write the decisions of a run that recorded them (``decisions=True``).

    Raises:
        NotRecordedError: it did not record them. OutputError: the file is not writable.
            ScenarioError: its name does not end in .sqlog or .qlog.
    """
    place = Path(file)
    if place.suffix not in SUFFIXES:
        message = f"{place}: expected a name that ends in {' or '.join(SUFFIXES)}"
        raise ScenarioError(message)
    decisions, paths = result.decisions, result.decision_paths
    try:
        with whole_file(place) as temporary, temporary.open("wb") as stream:
            _put(stream, json.dumps(header(result), ensure_ascii=False).encode() + b"\n")
            for start in range(0, decisions.height, BATCH):
                batch = decisions.with_row_index("row").slice(start, BATCH)
                facts = paths.filter(pl.col("decision").is_between(start, start + BATCH - 1))
                _put(stream, _lines(_events(batch, facts, result.path_names)))
    except pl.exceptions.PolarsError as error:
        message = f"{place}: cannot be written: {error}"
        raise OutputError(message) from error


def header(result: Result) -> dict[str, Any]:
    """Return the first record: the kind of file, and the run."""
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": f"scenario {result.scenario}, scheduler {result.scheduler}, seed {result.seed}",
        "trace": {
            "vantage_point": {"name": "sender", "type": "client"},
            "event_schemas": [NAMESPACE],
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
        },
    }


def _events(decisions: pl.DataFrame, facts: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return one event per row: time in milliseconds, name, data."""
    kinds = {one["name"]: one["kind"] for one in verdicts()}
    described = facts.select(
        "decision",
        pl.struct(
            _name("path", names),
            "verdict",
            pl.col("verdict").cast(pl.String).replace_strict(kinds).alias("kind"),
            pl.exclude("decision", "path", "verdict"),
        ).alias("paths"),
    )
    # Polars multiplies by the reciprocal, whose result is not the nearest number.
    times = decisions["time_ns"].to_numpy() / MILLISECOND
    paths = described.group_by("decision", maintain_order=True).agg("paths")
    return decisions.join(
        paths, left_on="row", right_on="decision", how="left", maintain_order="left"
    ).select(
        pl.Series("time", times),
        pl.lit(EVENT).alias("name"),
        pl.struct(
            "decision",
            _name("path", names),
            "segments",
            "segment",
            "wait_until_ns",
            pl.col("reason").map_elements(lambda text: named(text, names), return_dtype=pl.String),
            pl.struct(*CONNECTION[:-1], _name("oldest_unacked_path", names)).alias("connection"),
            "paths",
        ).alias("data"),
    )


def _name(column: str, names: list[str]) -> pl.Expr:
    """Replace a path's number by its name."""
    numbers = list(range(len(names)))
    return pl.col(column).replace_strict(numbers, names, return_dtype=pl.String)


def _lines(events: pl.DataFrame) -> bytes:
    text = io.BytesIO()
    events.write_ndjson(text)
    return text.getvalue()


def _put(stream: IO[bytes], lines: bytes) -> None:
    """Write records, one per line: JSON text contains no line feed."""
    stream.write(SEPARATOR + lines.removesuffix(b"\n").replace(b"\n", b"\n" + SEPARATOR) + b"\n")
