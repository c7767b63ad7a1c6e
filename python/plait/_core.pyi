"""The compiled part of Plait: scenarios, the simulator, the built-in schedulers."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, Self, TypeAlias, final

from typing_extensions import disjoint_base

__all__ = [
    "ArrowTable",
    "Assign",
    "ConformanceError",
    "Connection",
    "Defer",
    "Event",
    "Foreign",
    "Job",
    "Library",
    "Limit",
    "LinkSockets",
    "Message",
    "OutputError",
    "Path",
    "Penalize",
    "Pool",
    "Recall",
    "Receiving",
    "Recording",
    "Reinject",
    "Run",
    "RunError",
    "ScenarioError",
    "Scheduler",
    "Sending",
    "TransferError",
    "Wait",
    "check_scheduler",
    "link_plan",
    "link_run",
    "load_scenario",
    "measurement",
    "observed",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
    "parse_scenario",
    "pick",
    "run",
    "scenario_keys",
    "schedulers",
    "transfer_command",
    "transfer_options",
    "transfer_scheduler",
    "verdicts",
]

class ScenarioError(ValueError):
    """Bad input: an unknown key, unit or name, a value out of range; one line that names the place and the choices."""

class RunError(RuntimeError):
    """A run failed, for example because a scheduler written in Python raised an exception."""

class TransferError(RunError):
    """A file was not sent, or not received; one line that says why."""

class OutputError(ValueError):
    """A place that cannot be written to; one line that names it and the reason."""

class ConformanceError(AssertionError):
    """A scheduler broke one of the rules that `check_scheduler` tests."""

def link_plan(file: str) -> str:
    """The addresses and interfaces that `link_run` makes for a scenario file, as JSON. Raises ScenarioError."""

def link_run(
    file: str,
    command: Sequence[str],
    *,
    seed: int | None,
    server: str | None,
    patience: int,
    mtu: int,
    mptcp: bool,
    spin: int,
) -> str:
    """Run a command on a scenario file's links; its status and counters as JSON. Durations in nanoseconds.

    The calling thread stays in the command's network namespace: for a process that does nothing else afterwards.
    Raises RunError where the system forbids namespaces.
    """

@final
class LinkSockets:
    """The links between UDP sockets on addresses of loopback, and a target."""

    def __new__(cls, file: str, target: str, *, port: int, seed: int | None) -> Self: ...
    def plan(self) -> str:
        """Addresses as JSON, like those of `link_plan`."""

    def port(self) -> int:
        """The port of all paths."""

    def run(self, command: Sequence[str], *, spin: int) -> str:
        """Relay while a command runs, or without one until an interrupt; status and counters as JSON."""

def load_scenario(path: str) -> str:
    """Read and validate a scenario file; returns canonical JSON, defaults filled in. Raises ScenarioError."""

def parse_scenario(text: str, origin: str, base: str, *, format: Literal["toml", "json"] = "toml") -> str:
    """Validate a scenario given as text; `origin` names it in messages, trace files are found relative to `base`."""

def schedulers() -> str:
    """JSON list of the built-in schedulers: name, title, summary, source, needs, parameters, options."""

def scenario_keys() -> str:
    """JSON list of every scenario key: table, key, kind, default, doc."""

def verdicts() -> str:
    """JSON list of the verdicts on a path in a decision: name, kind, meaning."""

def measurement() -> str:
    """A name for the code that makes metrics of a run, also of captures: it changes with the code."""

def parse_duration(text: str) -> int:
    """Nanoseconds of a duration with unit, such as "20ms". Raises ScenarioError."""

def parse_rate(text: str) -> int:
    """Bits per second of a rate with unit, such as "10Mbit". Raises ScenarioError."""

def parse_bytes(text: str) -> int:
    """Bytes of an amount with unit, such as "35kB" (1000) or "64KiB" (1024). Raises ScenarioError."""

def check_scheduler(factory: Callable[[], Scheduler]) -> str:
    """Run the conformance suite on a scheduler; returns a summary, raises ConformanceError at the first broken rule."""

@final
class Assign:
    """Give the next `segments` unassigned segments to the path with index `path`."""

    path: int
    segments: int
    def __new__(cls, path: int, segments: int = 1) -> Assign: ...

@final
class Reinject:
    """Send `segment`, which is in flight on another path, on the path with index `path` too."""

    path: int
    segment: int
    def __new__(cls, path: int, segment: int) -> Reinject: ...

@final
class Recall:
    """Take the unsent segments back from the queue of the path with index `path`."""

    path: int
    def __new__(cls, path: int) -> Recall: ...

@final
class Limit:
    """Let new data leave on the path with index `path` only while fewer than `in_flight` segments are in flight there.

    None lifts the limit.
    """

    path: int
    in_flight: int | None
    def __new__(cls, path: int, in_flight: int | None) -> Limit: ...

@final
class Penalize:
    """Halve the congestion window of the path with index `path`, because it holds up the others."""

    path: int
    def __new__(cls, path: int) -> Penalize: ...

@final
class Defer:
    """Let the other streams of the same priority go first. Needs `messages`."""

    def __new__(cls) -> Defer: ...

@final
class Wait:
    """Assign nothing now; ask again at the next event, or at the time `until` (seconds) at the latest."""

    until: float | None
    def __new__(cls, until: float | None = None) -> Wait: ...

_Decision: TypeAlias = Assign | Reinject | Recall | Limit | Penalize | Defer | Wait

@final
class Path:
    """The facts of one path at the moment of a decision; times in seconds, amounts in segments."""

    index: int
    name: str
    state: str
    usable: bool
    open: bool
    """True if a segment assigned now would leave at once: the path is usable and both windows have room."""
    room: int
    """How many segments would leave at once; 0 unless `open`."""
    srtt: float | None
    rttvar: float | None
    latest_rtt: float | None
    own_rtt: float | None
    """Smoothed, of packets whose acknowledgement came back on this path, too. Over MPTCP that is `srtt`; over CMT-SCTP
    a packet of a long path is acknowledged over a short one first, and its `srtt` is smaller."""
    min_rtt: float | None
    """The smallest sample of `own_rtt`."""
    rto: float
    mss: int
    cwnd: int
    ssthresh: int | None
    in_flight: int
    lost: int
    """Segments considered lost that wait to be sent again on this path: they leave before anything new."""
    queued: int
    limit: int | None
    forward_delay: float | None
    """Estimated one-way delay towards the receiver, with one clock offset common to all paths; None if not measured."""
    in_recovery: bool
    """True after a timeout, until its losses are repaired: the path takes no new data."""
    repairing: bool
    """True while losses are being repaired, in which way ever."""
    delivery_rate: int
    loss_rate: float
    cost: int
    weight: int
    """Its share of what is sent, against the weights of the others; 1 unless the scenario says otherwise."""
    uncarried: int | None
    """The oldest segment in flight on other paths that this one lacks; known to schedulers that need `uncarried`."""
    memory: int | None
    """Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a socket;
    None if the engine does not count it."""
    outstanding: int | None
    """Packets that were sent and are not acknowledged without a gap; None if the engine does not
    count `memory`."""

@final
class Message:
    """What the application wrote in one piece, and the next segment is of."""

    number: int
    """Messages are counted from 0 in the order in which they were written."""
    stream: int
    segments_left: int
    """Segments of it in the data queue."""
    priority: int
    """Higher goes first, between streams."""
    deadline: float | None
    """When all of it should have arrived, in seconds."""

@final
class Connection:
    """The facts of the connection at the moment of a decision; amounts in segments."""

    unassigned: int
    next_segment: int
    fragment_left: int | None
    """Bytes from the next segment to the end of the fragment in which Linux' MPTCP keeps them;
    None without fragments."""
    window_left: int
    window: int
    """What the receiver's window admits from the oldest unacknowledged segment on, sent or not."""
    send_buffer_left: int
    oldest_unacked: int | None
    finished: bool
    message: Message | None
    """The message that the next segment is of. This and what follows is known to schedulers that need `messages`."""
    streams: int
    """Streams of its priority that have something in the data queue: `Defer` chooses between them."""
    due: float | None
    """The earliest deadline of what is not wholly acknowledged, in seconds."""
    writer_waits: bool
    """The application has more to write than there is room for, and so waits."""

@final
class Event:
    """What happened on a path."""

    kind: str
    path: int

@disjoint_base
class Scheduler:
    """Base of a scheduler written in Python: override `decide`, optionally `on_event`.

    The class attributes say what the scheduler needs from the transport besides plain assignment.
    """

    assign_ahead: bool
    recall: bool
    reinject: bool
    limit: bool
    penalize: bool
    messages: bool
    shortest_first: bool
    uncarried: bool
    repair: bool
    def __new__(cls, *arguments: object, **keywords: object) -> Self: ...
    def decide(self, now: float, connection: Connection, paths: list[Path]) -> _Decision:
        """Decide what to do next at the time `now` (seconds); called until it answers Wait."""

    def on_event(self, event: Event, connection: Connection, paths: list[Path]) -> None:
        """Take note of a packet sent, acknowledged or lost, a timeout, or a path going up or down."""

@final
class Library:
    """A shared library of schedulers with the C interface of plait-sched-ffi; loaded until the process ends."""

    classes: list[tuple[str, str]]
    """Names and summaries."""
    source: str | None
    """The text that it was made of, if it hands that out."""
    def __new__(cls, path: str | PathLike[str]) -> Library:
        """Raises ScenarioError, without the path: it cannot be loaded, or lacks a function or part of a class."""

    def scheduler(self, name: str, parameters: str) -> Foreign:
        """The scheduler of this name with parameters ("share=0.5:most=3"). Raises ScenarioError: it cannot be made."""

@final
class Foreign:
    """A scheduler of a shared library, with its parameters: every run makes an instance of its own."""

@final
class Job:
    """One run to be made: a scenario and what to change and to record."""

    scenario_json: str
    """The scenario as it is run: canonical JSON, defaults filled in, the job's scheduler and seed in it."""

    def __new__(
        cls,
        scenario_json: str,
        *,
        scheduler: str | None = None,
        python_scheduler: object | None = None,
        foreign: Foreign | None = None,
        seed: int | None = None,
        packets: bool = False,
        series_ns: int | None = None,
        decisions_from_ns: int | None = None,
        pcap: Sequence[str | PathLike[str]] | None = None,
    ) -> Job:
        """Decisions are recorded from `decisions_from_ns` on, and the last one before it; None: not at all.

        `pcap` has a place per path: there, what both ends capture is written, with "-sender.pcapng" and
        "-receiver.pcapng" added.
        """

    def refusal_of_quic(self) -> tuple[str, str] | None:
        """What QUIC connections cannot carry of it, key and value, and why; None if they can carry all."""

    def demands(self, least_ns: int, most: int) -> list[list[tuple[int, int, int]]] | None:
        """What each client of a workload of requests asks for: bytes of request and response, nanoseconds of thinking.

        As much as there can be if every request takes `least_ns` at least; None if that is more than `most` requests
        of one client.
        """

    def on_times(self) -> tuple[list[tuple[int, int]], list[list[tuple[int, int]]]]:
        """The on times of the workload, then of each flow: pairs of beginning and length in nanoseconds."""

@final
class ArrowTable:
    """A table that any Arrow library reads without copying."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    """What one run gave: its JSON and the tables that were recorded."""

    json: str
    silence: str | None
    """Of a scheduler of one's own that could have sent and never did: "never decided to send: 3 calls, …"."""
    def packets(self) -> ArrowTable | None: ...
    def requests(self) -> ArrowTable | None: ...
    def path_series(self) -> ArrowTable | None: ...
    def connection_series(self) -> ArrowTable | None: ...
    def decisions(self) -> ArrowTable | None: ...
    def decision_paths(self) -> ArrowTable | None: ...

def pick(document: str, places: Sequence[str]) -> str:
    """The values in a run's JSON at some places ("/metrics/goodput_bps"), as a JSON list; null where there is none.

    Queues are found by name and direction ("/queues/dsl/forward/packets_sent").

    Raises ScenarioError: it is no JSON.
    """

@final
class Pool:
    """Threads that make runs as they are handed in; 0 threads: one per core. `places`: see `pick`."""

    size: int
    def __new__(cls, threads: int, places: Sequence[str]) -> Pool: ...
    def submit(
        self,
        ticket: int,
        scenario_json: str,
        *,
        origin: str,
        base: str | PathLike[str],
        scheduler: str | None = None,
        foreign: Foreign | None = None,
        seed: int | None = None,
    ) -> None:
        """Hand a run in. Messages name `origin`; traces are found relative to `base`."""

    def take(self, seconds: float) -> tuple[int, str | None, str | None] | None:
        """The next run that ended: ticket, values (as of `pick`) or None, message or None.

        None if none ended within `seconds`.

        Raises ScenarioError if the run's scenario is not valid.
        """

    def close(self) -> None:
        """End the runs under way and the threads."""

def run(
    jobs: Sequence[Job],
    *,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    quic: bool = False,
) -> list[Run]:
    """Make the runs on `threads` threads (0: one per core); results in the order of the jobs.

    quic: over QUIC connections on the simulator's links; `Job.refusal_of_quic` says what they cannot carry.

    An exception that a scheduler written in Python raises passes through. Raises OutputError: a capture cannot be
    written.
    """

def observed(job: Job, folder: str | PathLike[str]) -> Run:
    """Read what `job`'s run over real hosts left in `folder`: captures, counters, logs.

    The run's JSON and tables are those that the simulator would give, with the engine "linux"; a table whose source the
    folder lacks is missing. Raises RunError: a file is missing, malformed or contradicts the others or the scenario.
    """

class _Host(Protocol):
    """What a program adds to the commands of the core."""

    def scheduler(self, text: str) -> object: ...
    def recorded(self, folder: str, text: str) -> None: ...

def transfer_command(arguments: list[str], host: _Host) -> int:
    """Run send, recv or proxy with its arguments, the program's name first; its exit status.

    An exception of a scheduler or of the host passes through.
    """

def transfer_options(command: str) -> str:
    """The help, arguments and options of a command, as JSON. Raises KeyError: it is unknown."""

def transfer_scheduler(interop: bool) -> str:
    """The name of the scheduler of a transfer that names none."""

@final
class Sending:
    """A file that is ready to be sent over several paths; without a file, a question whether one would be taken."""

    paths: list[str]
    """The local address of each path, with %INTERFACE behind it where it is bound to one."""
    def __new__(
        cls,
        file: str | PathLike[str] | None,
        connecting: Mapping[str, Any],
        *,
        record: tuple[str | PathLike[str], str] | None = None,
        interop: bool = False,
    ) -> Sending:
        """`connecting`: every key of `PathOptions`, and "to". `record`: its place and the scheduler's label.

        Raises ScenarioError: an argument is not what it may be, or a file, address or interface cannot be had.
        """

    def run(
        self,
        *,
        scheduler: str | None = None,
        own: object | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> str:
        """Send it, once; the result as JSON. `scheduler` is JSON; `progress` is called with JSON twice a second.

        An exception that a scheduler or `progress` raises passes through. Raises TransferError.
        """

    def stop(self) -> None:
        """End it, from any thread: `run` raises TransferError."""

@final
class Recording:
    """What was written down of a transfer over real paths: everything that its sender did and heard."""

    json: str
    """What it is of."""
    def __new__(cls, file: str | PathLike[str]) -> Recording:
        """Raises ScenarioError: it cannot be read, or is no recording."""

    def transmissions(self) -> ArrowTable:
        """One row per transmission: path, segment, bytes, sent_ns, acknowledged_ns, waited_ns, lost.

        acknowledged_ns: when this end heard of it, null if it never did. waited_ns: what the receiver says that it
        waited. lost: whether it was taken for lost at any time.
        """

    def run(self, job: Job) -> Run:
        """The run; the job's scenario says how it and its paths are called.

        Raises ScenarioError: it has other paths.
        """

@final
class Receiving:
    """An end that receives files into a folder."""

    host: str
    port: int
    fingerprint: str
    secret: str
    def __new__(
        cls,
        folder: str | PathLike[str],
        *,
        listen: str | None = None,
        secret: str | None = None,
        window: int | None = None,
        mtu: int | None = None,
    ) -> Receiving:
        """Raises ScenarioError: an argument is not what it may be, or the folder or address cannot be had."""

    def run(self, news: Callable[[str], object]) -> None:
        """Receive until it is stopped, once; `news` is called with JSON of what happens, its exceptions pass through.

        Raises TransferError.
        """

    def stop(self) -> None:
        """End it, from any thread; who sends is told."""
