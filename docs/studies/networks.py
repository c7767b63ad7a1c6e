"""Every scheduler on the networks of `docs/networks`: the tables of the schedulers' pages.

Changes are between runs of the same network and seed, so of the same repetition. A change counts if
its 95 % confidence interval does not contain zero and it is at least `LEAST` percent.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from study import with_interval, written

import plait
from plait.runs.experiment import frame, grid
from plait.statistics.estimate import Estimate, change_of_mean, mean
from plait.support.pages import markdown

FOLDER = Path(__file__).resolve().parents[1] / "networks"
BASE = "lowest-rtt"
LEAST = 2.0
"""Percent: smaller changes do not count, with any interval."""


@dataclass(frozen=True)
class Network:
    """A scenario file, and its delay metric; `scale` converts that to milliseconds."""

    name: str
    what: str
    delay: str = "app_delay_ms.mean"
    scale: float = 1.0
    seeds: int = 10

    @property
    def scenario(self) -> plait.Scenario:
        """The scenario of the file."""
        return plait.load(FOLDER / f"{self.name}.toml")


BULK = "application delay, mean"
NETWORKS = (
    Network("equal", BULK),
    Network("dsl-lte", BULK),
    Network("small-buffer", BULK),
    Network("near-far", BULK),
    Network("tight", BULK),
    Network("lossy", BULK),
    Network("narrow", BULK),
    Network("blocks", "block delay, 95 %", "block_delay_ms.p95"),
    Network("ways", "block delay, 95 %", "block_delay_ms.p95"),
    Network("calls", "block delay, 99 %", "block_delay_ms.p99"),
    Network("page", "completion time", "completion_time_s", 1000.0, 60),
)


def schedulers() -> list[str]:
    """Return the built-in schedulers, and the default one with each effective option.

    Schedulers that use messages are left out: these networks have neither several streams nor
    deadlines, so there such schedulers equal lowest RTT or, with one message at a time, ECF.
    """
    known = plait.schedulers()
    suffixes = [one["suffix"] for one in known[0]["options"] if one["suffix"]]
    names = (one["name"] for one in known if "messages" not in one["needs"])
    return [*names, *(f"{BASE}+{suffix}" for suffix in suffixes)]


def modes() -> list[str]:
    """Return the modes of `redundant` other than the default one."""
    known = next(one for one in plait.schedulers() if one["name"] == "redundant")
    mode = next(one for one in known["parameters"] if one["name"] == "mode")
    words = re.findall(r"\"([^\"]+)\"", mode["choices"])
    return [f"redundant:mode={word}" for word in words if word != mode["default"]]


@dataclass(frozen=True)
class Networks:
    """The runs: one row per network, scheduler and seed."""

    runs: pl.DataFrame

    @classmethod
    def measured(cls, chosen: Sequence[Network] = NETWORKS) -> Networks:
        """Make the runs, or those of some networks."""
        names = (*schedulers(), *modes())
        tasks = [
            task
            for one in chosen
            for task in grid(
                one.scenario, names, range(1, one.seeds + 1), {"network": one.name}, perturb=True
            )
        ]
        found = frame(tasks, ["goodput_bps", *dict.fromkeys(one.delay for one in chosen)])
        delay = pl.coalesce(
            pl.when(pl.col("network") == one.name).then(pl.col(one.delay) * one.scale) for one in chosen
        )
        goodput = pl.Series([one / 1e6 for one in found["goodput_bps"]])
        return cls(found.with_columns(goodput=goodput, delay=delay))

    def column(self, network: str, scheduler: str, name: str) -> list[float]:
        """Return a metric of each seed, in their order."""
        own = self.runs.filter((pl.col("network") == network) & (pl.col("scheduler") == scheduler))
        return own.sort("seed")[name].to_list()

    def mean(self, network: str, scheduler: str, name: str) -> Estimate:
        """Return a metric's mean over the seeds."""
        return mean(self.column(network, scheduler, name))

    def change(self, network: str, scheduler: str, name: str, base: str = BASE) -> Estimate:
        """Return the percentage by which the metric is above that of `base`."""
        found = change_of_mean(self.column(network, scheduler, name), self.column(network, base, name))
        if found is None:
            message = f"{network}: {name} of {base} is zero: there is no change in percent"
            raise plait.RunError(message)
        return found

    def row(self, scheduler: str, base: str) -> str:
        """Return the table of one scheduler: a line per network, against `base`."""
        headings = [
            "network",
            "goodput (Mbit/s)",
            f"better than `{base}` by (%)",
            "delay (ms)",
            f"better than `{base}` by (%)",
        ]
        return markdown(headings, [self.line(network, scheduler, base) for network in NETWORKS])

    def line(self, network: Network, scheduler: str, base: str) -> list[str]:
        """Return one network's line of that table."""
        return [
            link(network),
            written(self.mean(network.name, scheduler, "goodput").value, 2),
            with_interval(self.change(network.name, scheduler, "goodput", base), signed=True),
            written(self.mean(network.name, scheduler, "delay").value),
            with_interval(self.change(network.name, scheduler, "delay", base).negated(), signed=True),
        ]

    def summary(self, scheduler: str, base: str) -> str:
        """Return the networks on which the scheduler is better or worse than `base`, as a table.

        Only changes that count are listed.
        """
        words = {
            "more goodput": ("goodput", 1),
            "less delay": ("delay", -1),
            "less goodput": ("goodput", -1),
            "more delay": ("delay", 1),
        }
        lines = []
        for word, (name, sign) in words.items():
            found = [(network, self.change(network.name, scheduler, name, base)) for network in NETWORKS]
            places = [
                f"{network.scenario.name}: {with_interval(one, signed=True)}"
                for network, one in found
                if differs(one) and one.value * sign > 0
            ]
            lines.append([word, "; ".join(places) or "nowhere"])
        return markdown([f"than `{base}`", "network: change (%)"], lines, (0, 1))

    def modes(self, name: str) -> str:
        """Return the means of `redundant` in all its modes, and of the base."""
        titles = {BASE: f"`{BASE}`", "redundant": "`full`"}
        titles |= {one: f"`{one.partition('=')[2]}`" for one in modes()}
        return self.table(name, titles)

    def table(self, name: str, titles: Mapping[str, str] | None = None) -> str:
        """Return the means of all schedulers, or of these, as a line each."""
        titles = titles or {one: f"`{one}`" for one in schedulers()}
        decimals = 2 if name == "goodput" else 0
        rows = [["which delay", *(network.what for network in NETWORKS)]] if name == "delay" else []
        for one, title in titles.items():
            means = (self.mean(network.name, one, name).value for network in NETWORKS)
            rows.append([title, *(written(value, decimals) for value in means)])
        return markdown(["scheduler", *(link(network) for network in NETWORKS)], rows)

    def values(self) -> dict[str, str]:
        """Return the numbers for sentences.

        Keys: ``NETWORK SCHEDULER goodput``, ``… delay``, ``… goodput change``, ``… delay saved``.
        """
        made = {}
        for network in NETWORKS:
            for scheduler in (*schedulers(), *modes()):
                key = f"{network.name} {scheduler}"
                made[f"{key} goodput"] = written(self.mean(network.name, scheduler, "goodput").value, 1)
                made[f"{key} delay"] = written(self.mean(network.name, scheduler, "delay").value)
                goodput, delay = (self.change(network.name, scheduler, name) for name in ("goodput", "delay"))
                made[f"{key} goodput change"] = with_interval(goodput, signed=True)
                made[f"{key} delay saved"] = with_interval(delay.negated(), signed=True)
        for scheduler in schedulers():
            changes = [self.change(network.name, scheduler, "delay") for network in NETWORKS]
            made[f"{scheduler} less delay"] = f"{sum(differs(one) and one.value < 0 for one in changes)}"
        return made


def differs(change: Estimate) -> bool:
    """Whether a change is beyond chance and at least `LEAST` percent."""
    low, high = change.interval or (change.value, change.value)
    return abs(change.value) >= LEAST and (low > 0 or high < 0)


def link(network: Network) -> str:
    """Return the network's title, as a link into the list of networks."""
    return f"[{network.scenario.name}](index.md#{network.name})"


def way(path: Mapping[str, Any]) -> str:
    """Return a path's round-trip time, or its delays in both directions."""
    return str(path["rtt"]) if "rtt" in path else f"{path['forward']['delay']}, {path['backward']['delay']}"


def contents() -> str:
    """Return the list of networks, each described by the first line of its file."""
    lines = []
    for network in NETWORKS:
        text = (FOLDER / f"{network.name}.toml").read_text(encoding="utf-8")
        comment = text.splitlines()[0].removeprefix("# ")
        file = f"[`{network.name}.toml`](../networks/{network.name}.toml)"
        paths = " + ".join(f"{path['rate']}/{way(path)}" for path in tomllib.loads(text)["path"])
        lines.append(
            [
                f'<span id="{network.name}"></span>{network.scenario.name}',
                comment,
                paths,
                f"{network.seeds}",
                file,
            ]
        )
    return markdown(["network", "what it is", "rate and round trip", "seeds", "file"], lines, (0, 1, 2, 4))
