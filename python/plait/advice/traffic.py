"""Description of traffic, such as `bulk` or `blocks:RATE[:SIZE]`, and the metric of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from plait import _core
from plait.advice.choices import Direction
from plait.scenarios.flows import MultipathFlow
from plait.scenarios.units import NANOSECONDS, rate_bps, size_bytes
from plait.scenarios.workloads import Bulk, ConstantRate, File, RequestResponse, Workload
from plait.support.words import expected

FORMS = (
    "bulk, blocks:RATE[:SIZE] such as blocks:500kbit, file:SIZE such as file:5MB, "
    "request-response[:SIZE[:CLIENTS]] such as request-response:60kB:6, or flows:N[:SIZE] such as flows:20; blocks and "
    "requests with +download or +upload behind them run beside such a transfer without end"
)
BLOCKS_PER_SECOND = 25
"""Default number of blocks per second: the frame rate of a film."""
LARGEST_BLOCK = 10_000_000
SMALLEST_BLOCK = 40
SELDOM_S = 2
"""Blocks that come less often than once in this many seconds are too few for a judgement."""
WARMUP = 0.25
"""Share of a run of endless traffic that is not counted."""
WRITING = 0.9
"""Share of a run in which blocks and requests are written. The last ones arrive in the rest."""
RESPONSE = 35_000
"""Default bytes of a response: the median page on a phone has 2,311 kB in 66 requests (HTTP
Archive, Web Almanac 2024, chapter Page Weight)."""
LARGEST_RESPONSE = 10_000_000
THINK_NS = 130_000_000
"""Mean of a client's exponentially distributed time from a response to its next request: a
browser's parsing time in the HTTP model of 3GPP2 C.R1002 and ns-3 (ThreeGppHttpVariables)."""
MOST_CLIENTS = 100
DOWNLOAD = 400_000
"""Default bytes of a download: the part of the median page (see `RESPONSE`) that each of a
browser's six connections to a server carries."""
MOST_FLOWS = 200
STAGGER_NS = 10_000_000
"""Time between the starts of two downloads. If all started at once, their first packets would fill
a short queue."""

DISTRIBUTION = ("p95", "mean", "p50", "p99", "max")
METRICS: dict[str, tuple[str, ...]] = {
    "bulk": ("goodput", "mean", "p50", "p95", "p99", "max"),
    "blocks": DISTRIBUTION,
    "file": ("time",),
    "request-response": DISTRIBUTION,
    "flows": DISTRIBUTION,
}
"""Metrics by kind of traffic, the default first. All but goodput and time are statistics of the
delay of packets (bulk) or blocks, of the latency of requests, or of the time of downloads."""
BESIDE = ("download", "upload")
"""Endless transfers that may run beside the traffic, as `+upload`."""
LATEST = 5
"""Minimum number of blocks or requests beyond the percentile of the metric."""

Noun = Literal["goodput", "delay", "time", "latency"]


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Traffic of the application, and its metric; `text` is the description as given.

    Rate in payload bit/s; payload bytes of a block, and of a file, response or download (`size`).
    `clients` share a connection (request-response), or have one each (flows). `beside` (one of
    `BESIDE`, or empty) is an endless connection over the same paths. `metric` is one of `METRICS`.
    """

    kind: Literal["bulk", "blocks", "file", "request-response", "flows"]
    text: str
    rate_bps: int = 0
    block: int = 0
    size: int = 0
    clients: int = 1
    beside: str = ""
    metric: str = "goodput"

    @property
    def more_is_better(self) -> bool:
        """Whether a larger score is better (goodput) or a smaller one (delay, time)."""
        return self.metric == "goodput"

    @property
    def alike_percent(self) -> float:
        """Margin of equal results: differences up to this many percent do not matter."""
        return 2.0 if self.more_is_better else 5.0

    @property
    def noun(self) -> Noun:
        """Noun for the judged quantity."""
        if self.metric == "goodput":
            return "goodput"
        others: dict[str, Noun] = {"file": "time", "flows": "time", "request-response": "latency"}
        return others.get(self.kind, "delay")

    @property
    def judged(self) -> str:
        """Heading of the metric's column."""
        if self.metric in ("goodput", "time"):
            return self.metric
        what = {
            "bulk": "packet delay",
            "blocks": "block delay",
            "request-response": "latency",
            "flows": "download time",
        }
        return f"{what[self.kind]} {self.metric}"

    @property
    def things(self) -> str:
        """Noun for the items that have a delay, a latency or a time."""
        return {"blocks": "blocks", "request-response": "responses", "flows": "downloads"}.get(
            self.kind, "packets"
        )

    @property
    def column(self) -> str:
        """The metric's name in results; downloads, which are several flows, have their own."""
        if self.metric == "goodput":
            return "goodput_bps"
        if self.metric == "time":
            return "completion_time_s"
        of = {"blocks": "block_delay_ms", "request-response": "request_latency_ms", "flows": "download_ms"}
        return f"{of.get(self.kind, 'app_delay_ms')}.{self.metric}"

    @property
    def in_ms(self) -> bool:
        """Whether scores are in ms; otherwise they are in bit/s or s."""
        return "_ms." in self.column

    @property
    def finite(self) -> bool:
        """Whether a run ends once everything has arrived."""
        return self.kind in ("file", "flows")

    @property
    def greedy(self) -> bool:
        """Whether a faster path carries more: endless traffic, or requests after responses."""
        return self.kind in ("bulk", "request-response") or bool(self.beside)

    @property
    def total_bytes(self) -> int:
        """Total bytes of traffic that ends."""
        return self.size * self.clients

    def samples_needed(self) -> int:
        """Return the number of blocks or requests that puts some beyond the metric's percentile."""
        beyond = {"p99": 0.01, "max": 0.01}.get(self.metric, 0.05)
        return round(LATEST / beyond)

    @property
    def fewest_samples(self) -> int:
        """Minimum number of blocks or requests of a run for one of them to exceed the percentile.

        0 for other traffic: the number of downloads is given, and packets are many.
        """
        if self.kind not in ("blocks", "request-response"):
            return 0
        return {"p95": 20, "p99": 100, "max": 100}.get(self.metric, 0)

    def workload(self, duration_ns: int | None = None) -> Workload:
        """Return the traffic as the workload of a scenario, for a run of `duration_ns`.

        Without a duration, blocks and requests are written until the run ends.
        """
        if self.kind == "bulk":
            return Bulk()
        if self.finite:
            return File(size=f"{self.size}B")
        stop = None if duration_ns is None else f"{max(round(duration_ns * WRITING), 1)}ns"
        if self.kind == "blocks":
            return ConstantRate(rate=f"{self.rate_bps}bit", block=f"{self.block}B", stop=stop)
        return RequestResponse(
            response=f"{self.size}B",
            think=f"{THINK_NS}ns",
            think_times="exponential",
            parallel=self.clients,
            stop=stop,
        )

    def flows(
        self, scheduler: str | Mapping[str, Any] | None, direction: Direction
    ) -> Sequence[MultipathFlow]:
        """Return the connections beside the scenario's own, with its scheduler or another one."""
        if self.beside:
            same = (self.beside == "download") == (direction == "down")
            way: Literal["forward", "backward"] = "forward" if same else "backward"
            return [MultipathFlow(name=self.beside, direction=way, scheduler=scheduler)]
        return [
            MultipathFlow(
                name=f"download{number + 1}",
                size=f"{self.size}B",
                start=f"{begin}ns",
                scheduler=scheduler,
            )
            for number, begin in enumerate(self.begins_ns())
            if number
        ]

    @property
    def several(self) -> bool:
        """Whether there may be connections beside the scenario's own."""
        return self.kind == "flows" or bool(self.beside)

    def begins_ns(self) -> Sequence[int]:
        """Return the start of each download, the scenario's own connection first, or empty."""
        return [number * STAGGER_NS for number in range(self.clients)] if self.kind == "flows" else []

    def interval_ns(self, round_trip_ns: int, fastest_bps: float, all_bps: float) -> int:
        """Return the time between blocks, or between requests on empty paths; 0 for other traffic.

        Args:
            round_trip_ns: the shortest round trip.
            fastest_bps: rate of the fastest path.
            all_bps: total rate of all paths.
        """
        if self.kind == "blocks":
            return round(self.block * 8 * NANOSECONDS / self.rate_bps)
        if self.kind != "request-response":
            return 0
        alone = THINK_NS + round_trip_ns + self.size * 8 * NANOSECONDS / fastest_bps
        return round(max(alone / self.clients, self.size * 8 * NANOSECONDS / all_bps))


def parse_traffic(text: str, metric: str | None = None) -> Traffic:
    """Parse the description of the traffic, with the metric of its judgement.

    Raises:
        ScenarioError: the text has none of the forms, a value is no rate, size or number, or is
            zero, or such traffic has no such metric.
    """
    traffic = _parse(text)
    known = METRICS[traffic.kind]
    if metric is not None and metric not in known:
        message = f"metric {metric!r}: {traffic.kind} traffic is not judged by it{expected(metric, known)}"
        raise _core.ScenarioError(message)
    return replace(traffic, metric=metric or known[0])


def _parse(text: str) -> Traffic:
    said, plus, beside = text.partition("+")
    kind, *rest = said.split(":")
    if plus and (kind not in ("blocks", "request-response") or beside not in BESIDE):
        message = f"traffic {text!r}: expected {FORMS}"
        raise _core.ScenarioError(message)
    read, least, most = READERS.get(kind, (_bulk, 1, 0))
    if not least <= len(rest) <= most:
        message = f"traffic {text!r}: expected {FORMS}"
        raise _core.ScenarioError(message)
    try:
        return replace(read(text, rest), beside=beside)
    except _core.ScenarioError as error:
        message = f"traffic {text!r}: {error}"
        raise _core.ScenarioError(message) from error


def _bulk(text: str, _: Sequence[str]) -> Traffic:
    return Traffic(kind="bulk", text=text)


def _file(text: str, rest: Sequence[str]) -> Traffic:
    return Traffic(kind="file", text=text, size=_positive(size_bytes(rest[0]), rest[0]))


def _blocks(text: str, rest: Sequence[str]) -> Traffic:
    rate = _positive(rate_bps(rest[0]), rest[0])
    usual = min(max(rate // 8 // BLOCKS_PER_SECOND, SMALLEST_BLOCK), LARGEST_BLOCK)
    block = _positive(size_bytes(rest[1]), rest[1]) if len(rest) == 2 else usual
    if not SMALLEST_BLOCK <= block <= LARGEST_BLOCK:
        message = f"a block of {block} B: expected from {SMALLEST_BLOCK} B to {LARGEST_BLOCK // 10**6} MB"
        raise _core.ScenarioError(message)
    if block * 8 > rate * SELDOM_S:
        message = (
            f"a block of {block} B every {block * 8 / rate:.3g} s: expected one every {SELDOM_S} s at least"
        )
        raise _core.ScenarioError(message)
    return Traffic(kind="blocks", text=text, rate_bps=rate, block=block)


def _requests(text: str, rest: Sequence[str]) -> Traffic:
    size = _positive(size_bytes(rest[0]), rest[0]) if rest else RESPONSE
    if size > LARGEST_RESPONSE:
        message = (
            f"a response of {size} B: expected at most {LARGEST_RESPONSE // 10**6} MB; for one transfer say "
            f"file:{rest[0]}"
        )
        raise _core.ScenarioError(message)
    clients = _number(rest[1], "clients", 1, MOST_CLIENTS) if len(rest) == 2 else 1
    return Traffic(kind="request-response", text=text, size=size, clients=clients)


def _flows(text: str, rest: Sequence[str]) -> Traffic:
    clients = _number(rest[0], "flows", 2, MOST_FLOWS)
    size = _positive(size_bytes(rest[1]), rest[1]) if len(rest) == 2 else DOWNLOAD
    return Traffic(kind="flows", text=text, size=size, clients=clients)


READERS: dict[str, tuple[Callable[[str, Sequence[str]], Traffic], int, int]] = {
    "bulk": (_bulk, 0, 0),
    "file": (_file, 1, 1),
    "blocks": (_blocks, 1, 2),
    "request-response": (_requests, 0, 2),
    "flows": (_flows, 1, 2),
}
"""Parser of the parts after each kind, with their minimum and maximum number."""


def _number(text: str, what: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        message = f"{text!r} {what}: expected a whole number from {least} to {most}"
        raise _core.ScenarioError(message)
    return int(text)


def _positive(value: int, text: str) -> int:
    if value == 0:
        message = f"{text!r}: expected more than 0"
        raise _core.ScenarioError(message)
    return value
