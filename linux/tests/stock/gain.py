"""Compares schedulers in Debian's kernels with the lab's kernel, on the same links.

The guest's clock counts instructions (QEMU's `-icount`), so it does not depend on the host: a guest
on a busy machine measures the same. Its network is that of the lab's plan of a scenario
(`plait.linux.plan`).
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from debian import HERE

from plait import _core
from plait.linux.guest.plan import Batch, Plan, Setting
from plait.linux.plan import make_plan
from plait.linux.refusals import STOCK, STOCK_NAME
from plait.runs.experiment import frame, grid
from plait.scenarios.scenario import Scenario, load, parsed_scenario
from plait.scenarios.scheduler import override

SCHEDULERS = {
    "": (STOCK,),
    "plait": ("lowest-rtt", "blest", "ecf", "otias", "sttf", "delivery-delay", "lowest-rtt+bm"),
    "plait_livepatch": (
        "lowest-rtt",
        "daps",
        "dqs",
        "intelligent-delivery-delay",
        "redundant",
        "lowest-rtt+rp",
        "plait",
    ),
}
"""Schedulers by module; none is the kernel alone. Stage 2 decides per packet, also for lowest-rtt."""
BULK_BLOCK = 10_000
"""Bytes of a write, where a scenario has no blocks."""
PARAMETERS = "/sys/module/plait/parameters/"
METRICS = ("goodput_bps", "block_delay_ms.mean")
"""The lab's metric of a case without blocks, and of one with them."""

Results = dict[tuple[str, str], float]
"""Metrics by case and scheduler: bit/s or milliseconds."""


@dataclass(frozen=True)
class Case:
    """A scenario. The metric is the goodput, or the mean delay of its blocks."""

    name: str
    title: str
    scenario: Scenario

    @property
    def blocks(self) -> bool:
        """Whether the application writes blocks at a rate."""
        return bool(self.scenario.to_dict()["workload"]["kind"] == "cbr")


def cases(chosen: Sequence[str] = ()) -> list[Case]:
    """Return the cases of the folder, or those with the given names."""
    files = sorted((HERE / "gain").glob("*.toml"))
    found = [
        Case(file.stem, file.read_text().splitlines()[0].removeprefix("# "), load(file)) for file in files
    ]
    return [one for one in found if not chosen or one.name in chosen]


def plan_of(case: Case, scheduler: str) -> Plan:
    """Return the lab's plan of a case with a scheduler."""
    return make_plan(_core.Job(parsed_scenario(case.scenario), scheduler=override(scheduler).built_in))


def script(some: Iterable[Case], schedulers: Sequence[str]) -> bytes:
    """Return the script of a guest: for each case its network, and a run of each scheduler."""
    lines = [". ./gain.sh"]
    for case in some:
        plan = plan_of(case, STOCK)
        lines += [f"/bin/ip netns add {name}" for name in plan.namespaces]
        lines += [line for batch in plan.ip for line in _batch("ip", batch)]
        lines += _settings(plan.settings)
        lines += [line for batch in plan.tc for line in _batch("tc", batch)]
        lines += _runs(case, plan, schedulers)
        lines.append(f"quit {' '.join(plan.namespaces)}")
    return "\n".join([*lines, "echo END >&3", ""]).encode()


def _runs(case: Case, plan: Plan, schedulers: Sequence[str]) -> Iterator[str]:
    source, connection = plan.connection.source, plan.connection
    block = source.block or BULK_BLOCK
    interval = round(block * 8e6 / source.rate_bps) if source.rate_bps else 0
    seconds = plan.duration_ns / 1e9
    yield f"listen {connection.port} {block} {seconds:g}"
    for name in schedulers:
        yield from _settings(plan_of(case, name).settings)
        ends = f"{connection.sender} {connection.receiver} {connection.port}"
        yield f"measure {case.name} {name} {ends} {block} {interval} {seconds:g}"


def _batch(program: str, batch: Batch) -> list[str]:
    return [f"batch {program} {batch.namespace or chr(34) * 2} << 'LINES'", *batch.lines, "LINES"]


def _settings(settings: Iterable[Setting]) -> list[str]:
    lines = []
    for one in settings:
        if one.file.startswith(PARAMETERS):
            lines.append(f"parameter {one.file.removeprefix(PARAMETERS)} {shlex.quote(one.value)}")
        else:
            lines.append(f"put {one.namespace or chr(34) * 2} {one.file} {shlex.quote(one.value)}")
    return lines


def lab(some: Sequence[Case], schedulers: Sequence[str]) -> Results:
    """Return the lab's metric of every case and scheduler."""
    tasks = [task for case in some for task in grid(case.scenario, schedulers, [1], {"case": case.name})]
    rows = frame(tasks, list(METRICS), engine="linux").iter_rows(named=True)
    by_name = {case.name: case for case in some}
    return {(row["case"], row["scheduler"]): row[METRICS[by_name[row["case"]].blocks]] for row in rows}


def read(lines: Iterable[str], some: Sequence[Case]) -> Results:
    """Return the metric of every run of a guest; NaN for a failed one."""
    by_name = {case.name: case for case in some}
    found: Results = {}
    for line in lines:
        fields = json.loads(line)
        metric = ("goodput_bps", "mean_ms")[by_name[fields["case"]].blocks]
        found[fields["case"], fields["scheduler"]] = fields.get(metric, math.nan)
    return found


def tables(some: Sequence[Case], stages: Mapping[str, Results], labs: Results) -> str:
    """Return the results of modules as Markdown: the guest's value, the lab's in brackets."""
    parts = []
    for blocks, what, scale in ((False, "goodput (Mbit/s)", 1e-6), (True, "mean delay of blocks (ms)", 1.0)):
        columns = [case for case in some if case.blocks is blocks]
        if not columns:
            continue
        rows = [
            ["stage", f"scheduler; {what}", *(case.name for case in columns)],
            ["--:", "---", *["--:"] * len(columns)],
        ]
        for stage, (module, results) in enumerate(stages.items()):
            for name in SCHEDULERS[module]:
                values = [
                    (results.get((case.name, name), math.nan), labs[case.name, name]) for case in columns
                ]
                cells = [f"{one * scale:.3g} ({other * scale:.3g})" for one, other in values]
                rows.append([str(stage or ""), f"`{name.replace(STOCK, STOCK_NAME)}`", *cells])
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)
