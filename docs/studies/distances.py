"""Tables, numbers and figures of `docs/how-far.md` from its rows.

A ratio is from 0 to 1, and 1 is the bound: the value over the bound for goodput and shares, the
bound over the value for delays and times. A scheduler without a value has the ratio 0.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

import plait
from plait.benchmark.runs import SCHEMA
from plait.benchmark.scores import NEAR, Scores
from plait.plots.curve import draw_distribution
from plait.plots.space_time import sent_within
from plait.plots.style import colour, label, legend, new_figure
from plait.scenarios.units import duration_s, rate_bps
from plait.support.pages import markdown
from studies.domains import BOUNDED, Domain, Place

PLAIT, BASE, ORACLE = "plait", "lowest-rtt", "oracle"
SHOWN = (PLAIT, BASE, "linux-default", "blest", "ecf", "intelligent-delivery-delay")
"""The schedulers with a curve of their own."""
RIVALS = 5
"""Other schedulers in the first table."""
WORST = 8
"""Cases in the table of the worst ones."""
FAR = 0.8
"""A ratio of the best schedule to the bound below which the bound may be loose: 20 %."""
JOINT = "L0-joint"
ROUND_TRIPS = 2
"""Longest round trips in the diagrams."""
PACKETS = 60
"""Packets that the paths of the diagrams can carry within that time."""
LEAST_PACKETS = 10
"""Packets that each diagram has at least."""
ROUNDING = 1e-6
"""Relative difference within which a value equals its bound."""
WIDTH = 100
"""Columns of a line of the page."""
Numbers = NDArray[np.float64]


class Distances:
    """Values at all points beside bounds and best schedules.

    Args:
        domains: the domains, with their points.
        rows: rows of runs, as `plait.benchmark.runs.measured` returns them.
        found: a row for each point with `bound` (a name), `limit` and `joint` (values), and with
            `oracle`, the value of the best schedule of a search; null without.
    """

    def __init__(self, domains: Sequence[Domain], rows: pl.DataFrame, found: pl.DataFrame) -> None:
        self.domains = domains
        self.points = [point for domain in domains for point in domain.points]
        searched = found.drop_nulls("oracle").select(
            "domain", "point", pl.lit(ORACLE).alias("scheduler"), pl.lit(0).alias("seed"),
            pl.col("oracle").alias("value"), pl.lit(None).alias("error"),
        )  # fmt: skip
        scores = Scores(self.points, pl.concat([rows, searched.cast(pl.Schema(SCHEMA))]), [], BASE)
        self.names = [name for name in scores.known if name != ORACLE]
        self.values, self.best = dict(scores.values), scores.best
        self.values.setdefault(ORACLE, np.full(len(self.points), np.nan))
        self.way = np.array([one.way for one in self.points])
        self.title = np.array([one.domain for one in self.points])
        places = pl.DataFrame(
            {"domain": self.title.tolist(), "point": [one.number for one in self.points]}
        ).join(found, on=["domain", "point"], how="left", maintain_order="left")
        limit, joint = (places[name].to_numpy().astype(np.float64) for name in ("limit", "joint"))
        # L0-joint holds for runs that deliver nearly all data. If no value is better, it counts.
        tighter = (joint > np.nan_to_num(limit)) & (self.best >= joint)
        self.bound = np.where(tighter, joint, limit)
        self.bound_name = np.where(tighter, JOINT, places["bound"].fill_null("").to_numpy())
        self.bounded = np.isfinite(self.bound)
        beaten = self.bounded & (self.ratio(self.best, self.bound) > 1 + ROUNDING)
        if beaten.any():
            message = f"{self.points[int(beaten.argmax())].id}: a value is better than its bound"
            raise plait.RunError(message)
        self.searched = np.isfinite(self.values[ORACLE])

    def ratio(self, own: Numbers, reference: Numbers) -> Numbers:
        """Return the ratio of values to others at each point."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(self.way > 0, own / reference, reference / own)
        found[own == reference] = 1.0  # no block may be in time with any scheduler
        return np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=0.0)

    def to_bound(self, values: Numbers) -> Numbers:
        """Return the ratio of values to the bound at each point."""
        return np.minimum(self.ratio(values, self.bound), 1.0)

    def rivals(self, name: str) -> tuple[Numbers, list[str]]:
        """Return the best value of all other schedulers at each point, and its scheduler."""
        others = [one for one in self.names if one != name]
        signed = np.array([self.way * self.values[one] for one in others])
        first = np.nan_to_num(signed, nan=-np.inf).argmax(axis=0)
        values = np.array([self.values[others[index]][at] for at, index in enumerate(first)])
        return values, [others[index] for index in first]

    def near_others(self, name: str) -> NDArray[np.bool_]:
        """Return at which points a scheduler is within 5 % of the best of all others."""
        return self.ratio(self.values[name], self.rivals(name)[0]) >= NEAR

    def order(self) -> list[str]:
        """Return the schedulers by the share of points near the best other one, best first."""
        return sorted(self.names, key=lambda name: -self.near_others(name).mean())

    def of(self, domain: Domain) -> NDArray[np.bool_]:
        """Return which points are those of a domain."""
        return np.array(self.title == domain.title)

    def groups(self) -> Iterator[tuple[str, Domain, NDArray[np.bool_]]]:
        """Yield the points of each bound in each domain, with the name of the bound."""
        for domain in self.domains:
            here = self.of(domain) & self.bounded
            for name, _ in Counter(self.bound_name[here]).most_common():
                yield str(name), domain, here & (self.bound_name == name)

    def behind(self) -> Numbers:
        """Return how far plait is behind the best other scheduler, as a share.

        It is a share of plait's value for goodput, and of the other's for delays and times.
        """
        ratio = self.ratio(self.values[PLAIT], self.rivals(PLAIT)[0])
        with np.errstate(divide="ignore"):
            return 1 / ratio - 1


def tables(found: Distances) -> dict[str, str]:
    """Return the tables of the page."""
    return {
        "near": near(found),
        "worst": worst(found),
        "bounds": bounds(found),
        "gaps": gaps(found),
        "oracle": searches(found),
    }


def near(found: Distances) -> str:
    """Return the share of points near the best other scheduler, for plait and its best rivals."""
    names = [PLAIT, *[name for name in found.order() if name != PLAIT][:RIVALS]]
    shares = {name: found.near_others(name) for name in names}
    lines = [
        [one.title, f"{len(one.points)}", *(percent(shares[name][found.of(one)]) for name in names)]
        for one in found.domains
    ]
    lines.append(["all", f"{len(found.points)}", *(percent(shares[name]) for name in names)])
    return markdown(["domain", "points", *(f"`{name}`" for name in names)], lines)


def bounds(found: Distances) -> str:
    """Return the median ratios to the bound, and the shares of points near it."""
    lines = []
    ratios = [found.to_bound(own) for own in (found.best, found.values[PLAIT], found.values[BASE])]
    for name, one, here in found.groups():
        medians = [f"{np.median(ratio[here]):.2f}" for ratio in ratios]
        shares = [percent(ratio[here] >= NEAR) for ratio in ratios]
        lines.append([one.title, name, f"{here.sum()}", *medians, *shares])
    whose = ("best found", f"`{PLAIT}`", f"`{BASE}`")
    heads = [*(f"{one}, median" for one in whose), *(f"{one}, within 5 % (%)" for one in whose)]
    return markdown(["domain", "bound", "points", *heads], lines, (0, 1))


def gaps(found: Distances) -> str:
    """Return the shares of points farther than 5 % from the bound, where the best found is not."""
    tight = found.bounded & (found.to_bound(found.best) >= NEAR)
    kinds = {traffic: tight & of_traffic(found, traffic) for traffic in BOUNDED.values()}
    shown = {"all": tight, **{traffic: here for traffic, here in kinds.items() if here.any()}}
    lines = [["points", *(f"{here.sum()}" for here in shown.values())]]
    for name in SHOWN if tight.any() else ():
        far = found.to_bound(found.values[name]) < NEAR
        lines.append([f"`{name}`, farther (%)", *(percent(far[here]) for here in shown.values())])
    return markdown(["", *shown], lines)


def searches(found: Distances) -> str:
    """Return the gain of the searches over the best scheduler, and their distance from the bound."""
    lines = []
    best = found.rivals("")[0]
    for one in found.domains:
        here = found.of(one) & found.searched
        if here.any():
            gain = 1 / found.ratio(best, found.best)[here] - 1
            behind = 1 / found.ratio(found.values[PLAIT], found.best)[here] - 1
            shares = [np.median(gain), gain.max(), np.median(behind)]
            reached = np.median(found.to_bound(found.best)[here])
            lines.append(
                [one.title, f"{here.sum()}", *(f"{100 * share:.1f}" for share in shares), f"{reached:.2f}"]
            )
    heads = [
        "points",
        "median gain (%)",
        "largest gain (%)",
        f"`{PLAIT}` behind, median (%)",
        "to bound, median",
    ]
    return markdown(["domain", *heads], lines)


def worst(found: Distances) -> str:
    """Return the points at which plait is furthest behind another scheduler."""
    behind, (_, rivals) = found.behind(), found.rivals(PLAIT)
    lines = [
        [
            found.points[at].domain,
            f"{found.points[at].number}",
            described(found.points[at]),
            f"{100 * behind[at]:.0f}" if np.isfinite(behind[at]) else "no value",
            f"`{rivals[at]}`",
        ]
        for at in np.argsort(-behind, kind="stable")[:WORST]
    ]
    return markdown(["domain", "point", "paths (Mbit/s, ms)", "behind (%)", "rival"], lines, (0, 2, 4))


def described(point: Place) -> str:
    """Return rates in Mbit/s and round trips in ms of a point's paths."""
    return " + ".join(
        f"{'trace' if rate is None else f'{rate / 1e6:.3g}'}, {1e3 * rtt:.0f}"
        for rate, rtt in paths_of(point)
    )


def paths_of(point: Place) -> list[tuple[float | None, float]]:
    """Return the rate in bit/s (None for a trace) and the round trip in seconds of each path."""
    ways = [(one["forward"], one["backward"]) for one in json.loads(point.scenario.json)["path"]]
    return [
        (
            rate_bps(forward["rate"]) if "rate" in forward else None,
            duration_s(forward["delay"]) + duration_s(backward["delay"]),
        )
        for forward, backward in ways
    ]


def percent(where: NDArray[np.bool_]) -> str:
    """Return the share of the points in percent."""
    return f"{100 * where.mean():.0f}"


def values(found: Distances) -> dict[str, str]:
    """Return the numbers for the page's sentences."""
    tight = found.bounded & (found.to_bound(found.best) >= NEAR)
    loose = found.bounded & (found.to_bound(found.best) < FAR)
    made = {
        "points": f"{len(found.points)}",
        "schedulers": f"{len(found.names)}",
        "bounded": f"{found.bounded.sum()}",
        "searched": f"{found.searched.sum()}",
        "tight": f"{tight.sum()} ({percent(tight[found.bounded])} %)",
        "loose": f"{loose.sum()} ({percent(loose[found.bounded])} %)",
        "between": f"{(found.bounded & ~tight & ~loose).sum()}",
    }
    counts = Counter(found.bound_name[loose])
    made["loose bounds"] = ", ".join(f"{name} at {number}" for name, number in counts.most_common()) or "none"
    best = found.rivals("")[0]
    made["gained"] = f"{(found.ratio(best, found.best)[found.searched] < NEAR).sum()}"
    return made


def of_traffic(found: Distances, traffic: str) -> NDArray[np.bool_]:
    """Return which points have a kind of traffic."""
    return np.isin(found.title, [one.title for one in found.domains if one.traffic == traffic])


def curves(found: Distances) -> Figure:
    """Draw the cumulative distributions of the ratio to the bound, a panel per kind of traffic."""
    kinds = [one for one in BOUNDED.values() if (of_traffic(found, one) & found.bounded).any()]
    figure, panels = new_figure(len(kinds), width=8.6, height=3.7, share_y=True)
    for axes, traffic in zip(panels, kinds, strict=True):
        here = of_traffic(found, traffic) & found.bounded
        for index, name in enumerate(SHOWN):
            draw_distribution(axes, found.to_bound(found.values[name])[here], index=index, name=name)
        draw_distribution(axes, found.to_bound(found.rivals("")[0])[here], index=6, name="best scheduler")
        if (here & found.searched).any():
            draw_distribution(axes, found.to_bound(found.best)[here & found.searched], index=7, name="oracle")
        axes.set_xlim(0, 1.01)
        axes.set_ylim(0, 1.01)
        title = f"{traffic}: {here.sum()} points, {(here & found.searched).sum()} of the oracle"
        label(axes, x="ratio to the bound", y="share of points" if axes is panels[0] else None, title=title)
    legend(figure, panels[0], columns=4)
    return figure


def certain(found: Distances) -> Figure:
    """Draw how far the best value found is from each bound in each domain."""
    groups = list(found.groups())
    figure, (axes,) = new_figure(width=7.2, height=1.0 + 0.24 * len(groups))
    parts: Sequence[tuple[str, str, Callable[[Numbers], NDArray[np.bool_]]]] = (
        ("within 5 %: gaps are real", colour(2), lambda ratio: ratio >= NEAR),
        ("5 to 20 %", colour(1), lambda ratio: (ratio < NEAR) & (ratio >= FAR)),
        ("more than 20 %: the bound may be loose", "#B9C4CC", lambda ratio: ratio < FAR),
    )
    for row, (_, _, here) in enumerate(groups):
        left = 0.0
        for text, fill, chosen in parts:
            share = 100 * float(chosen(found.to_bound(found.best)[here]).mean())
            axes.barh(row, share, left=left, color=fill, height=0.72, label=text if row == 0 else None)
            left += share
    names = [f"{one.title} · {name} ({here.sum()})" for name, one, here in groups]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.grid(visible=False, axis="y")
    label(axes, x="share of points (%), by the distance of the best value found from the bound")
    legend(figure, axes, columns=3, size=8.5)
    return figure


def pictured(found: Distances) -> int:
    """Return the point for the diagrams: where plait and the baseline differ most.

    It has two paths, both with rates, that carry at most `PACKETS` packets in the diagrams' time,
    a bound, endless data or blocks, and values of both schedulers.
    """
    own, base = found.values[PLAIT], found.values[BASE]
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(own / base))
    apart[~np.isfinite(apart)] = -1.0
    for at in np.argsort(-apart, kind="stable"):
        point = found.points[at]
        if not found.bounded[at] or point.metric == "completion_time_s":
            continue
        paths = paths_of(point)
        rates = [rate for rate, _ in paths if rate is not None]
        carried = sum(rates) * ROUND_TRIPS * max(rtt for _, rtt in paths) / 12e3
        if len(paths) == len(rates) == 2 and carried <= PACKETS:
            return int(at)
    message = "diagrams: no point has two paths that are slow enough"
    raise plait.ScenarioError(message)


def diagrams(found: Distances) -> tuple[Figure, Mapping[str, str]]:
    """Return the two space-time diagrams, and the texts about them.

    The window is the first one from the middle of the run on in which both schedulers send at least
    `LEAST_PACKETS` packets.
    """
    at = pictured(found)
    point = found.points[at]
    runs = [plait.run(point.scenario, name, packets=True) for name in (PLAIT, BASE)]
    rtts = [rtt for _, rtt in paths_of(point)]
    length = ROUND_TRIPS * max(rtts)
    middle = duration_s(point.table["duration"]) / 2
    window = next(
        one for one in windows(middle, length) if min(sent(run, one) for run in runs) >= LEAST_PACKETS
    )
    slow, told = int(np.argmax(rtts)), []
    for run, name in zip(runs, (PLAIT, BASE), strict=True):
        packets = sent_within(run, window)
        wait = packets.filter(pl.col("delivered_ns") > pl.col("arrived_ns")).height
        over = packets.filter(pl.col("path") == slow).height
        again = packets.filter("retransmission").height
        told.append(
            f"`{name}` sends {packets.height} packets in this time, {over} of them over the path with the longer "
            f"round trip. {again} are retransmissions or copies, and {wait} wait at the receiver. Over the whole "
            f"run, it has {worded(point, float(found.values[name][at]))}."
        )
    where = (
        f"Point {point.number} of “{point.domain}” (paths: {described(point)}; Mbit/s, ms). Of the points whose two "
        f"paths carry at most {PACKETS} packets within {ROUND_TRIPS} of the longer round trips, it is the one at "
        f"which the values differ most. The time is the first one after half of the run in which both schedulers "
        f"send {LEAST_PACKETS} packets."
    )
    texts = {"picture": f"*{where}*", "difference": " ".join(told)}
    made = {name: textwrap.fill(text, WIDTH) for name, text in texts.items()}
    return plait.plots.space_time(runs, window, title=f"{point.domain}, point {point.number}"), made


def windows(begin: float, length: float) -> Iterator[tuple[float, float]]:
    """Yield windows of a length, one after another."""
    return ((begin + index * length, begin + (index + 1) * length) for index in count())


def sent(run: plait.Result, window: tuple[float, float]) -> int:
    """Return the number of packets sent within a window."""
    low, high = (round(one * 1e9) for one in window)
    return run.packets.filter(pl.col("sent_ns").is_between(low, high, closed="left")).height


def worded(point: Place, value: float) -> str:
    """Return a value with its unit."""
    if point.metric == "goodput_bps":
        return f"a goodput of {value / 1e6:.2f} Mbit/s"
    return f"a mean block delay of {value:.0f} ms"
