"""Writes a run's JSON, tables, figures and origin into a folder, and its decisions as qlog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from plait.results import qlog
from plait.results.captures import run_name
from plait.results.recorded import ORIGIN, RESULT, SCENARIO, origins_with
from plait.results.result import Result
from plait.support.files import free_name, make_folder, parquet, whole_file, write_text
from plait.support.machine import command_line, surroundings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKETS_SHOWN = 40
"""Packets in the space-time diagram of a run."""


def write_results(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write each run into its own folder below `folder`.

    Such a folder has result.json, scenario.json, Parquet tables and PNG figures. If several
    schedulers ran one scenario, a figure beside the folders compares them. The file run.json beside
    them describes their origin; `plait.results.recorded` has the layout.

    Raises:
        OutputError: the folder is not writable.
    """
    make_folder(folder)
    files: list[Path] = []
    taken: set[str] = set()
    names = [run_name(result.scenario, result.scheduler, taken) for result in results]
    for result, name in zip(results, names, strict=True):
        files += [*write_result(result, folder / name), *_write_figures(result, folder / name)]
    files += _write_comparisons(results, folder)
    origin = {"command": command_line(), **surroundings(), "folders": names}
    write_text(folder / ORIGIN, json.dumps(origins_with(folder, origin), indent=2, ensure_ascii=False) + "\n")
    return [*files, folder / ORIGIN]


def _write_comparisons(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write a comparing figure for each scenario that several schedulers ran."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.scenario, []).append(result)
    files: list[Path] = []
    taken: set[str] = set()
    for scenario, group in groups.items():
        if len({result.scheduler for result in group}) > 1:
            from plait import plots  # noqa: PLC0415 - see `_write_figures`
            from plait.analysis import Repeated  # noqa: PLC0415

            found = Repeated.of(group)
            figure = plots.beside(found)
            seeds = f"seed {found.seeds[0]}"
            if len(found.seeds) > 1:
                seeds = found.note or f"means of seeds {', '.join(map(str, found.seeds))} with 95 % intervals"
            plots.caption(figure, f"{scenario}, {seeds}. {command_line()}")
            files.append(folder / f"{free_name(f'comparison-{scenario}', taken)}.png")
            plots.save(figure, files[-1])
    return files


def write_qlogs(results: Sequence[Result], place: Path) -> list[Path]:
    """Write each run's decisions as qlog, to the file `place` or into the folder `place`.

    The folder must exist.

    Raises:
        OutputError: a file is not writable.
    """
    if is_file_name(place):
        files = [place]
    else:
        taken: set[str] = set()
        names = [run_name(result.scenario, result.scheduler, taken) for result in results]
        files = [place / f"{name}{qlog.SUFFIXES[0]}" for name in names]
    for result, file in zip(results, files, strict=True):
        qlog.write(result, file)
    return files


def is_file_name(place: Path) -> bool:
    """Whether `--qlog` names a file; otherwise it names a folder."""
    return place.suffix in qlog.SUFFIXES and not place.is_dir()


def write_result(result: Result, folder: Path) -> list[Path]:
    """Write a run's JSON, scenario and tables into its folder; return the files.

    Raises:
        OutputError: the folder is not writable.
    """
    make_folder(folder)
    files = [folder / RESULT]
    write_text(files[0], _document(result) + "\n")
    if result.scenario_json is not None:
        files.append(folder / SCENARIO)
        write_text(files[-1], result.scenario_json + "\n")
    for name, frame in result.recorded().items():
        file = folder / f"{name}.parquet"
        _write_parquet(frame, file)
        files.append(file)
    return files


def _write_figures(result: Result, folder: Path) -> Iterator[Path]:
    from plait import plots  # noqa: PLC0415 - a run without figures need not load matplotlib

    for name, figure in _figures(result):
        plots.caption(figure, f"{result.scenario}, {result.scheduler}, seed {result.seed}. {command_line()}")
        file = folder / f"{name}.png"
        plots.save(figure, file)
        yield file


def _document(result: Result) -> str:
    """Return the run's JSON with the scheduler as given by the user, parameters included."""
    if result.data["scheduler"] == result.scheduler:
        return result.to_json()
    return json.dumps(
        {**result.data, "scheduler": result.scheduler}, separators=(",", ":"), ensure_ascii=False
    )


def _write_parquet(frame: pl.DataFrame, file: Path) -> None:
    with whole_file(file) as temporary:
        temporary.write_bytes(parquet(frame))


def _figures(result: Result) -> Iterator[tuple[str, Figure]]:
    from plait import plots  # noqa: PLC0415

    recorded = result.recorded()
    if "connection_series" in recorded:
        yield "receive-buffer", plots.receive_buffer([[result]])
        yield "throughput", plots.cumulative_throughput([result])
    if "packets" in recorded and not recorded["packets"].is_empty():
        yield "blocking-time", plots.blocking_time([[result]], [None])
        yield "space-time", plots.space_time(result, _busy_window(recorded["packets"]))


def _busy_window(packets: pl.DataFrame) -> tuple[float, float]:
    """Return a window in seconds from the middle of the run, `PACKETS_SHOWN` packets long."""
    sent = packets["sent_ns"].sort()
    first = len(sent) // 2
    last = min(first + PACKETS_SHOWN, len(sent) - 1)
    return sent[first] / 1e9, (sent[last] + 1) / 1e9
