"""The compiled part of Plait: scenarios, the simulator, the built-in schedulers.

Written by hand for the crate plait-py, whose one module it describes. `make reference` writes the
classes of facts from the Rust structs behind them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, Self, TypeAlias, final

__all__ = [
    "Acknowledgement",
    "ArrowTable",
    "Assign",
    "ConformanceError",
    "CongestionController",
    "CongestionEvent",
    "Connection",
    "Defer",
    "Delivery",
    "End",
    "Event",
    "Foreign",
    "ForeignController",
    "ForeignWorkload",
    "Job",
    "Library",
    "Limit",
    "LinkSockets",
    "Message",
    "OutputError",
    "Path",
    "PathShare",
    "Penalize",
    "Pool",
    "RateSample",
    "Recall",
    "Receiving",
    "Recording",
    "Reinject",
    "Request",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Sending",
    "TransferError",
    "Wait",
    "Workload",
    "Write",
    "check_scheduler",
    "given",
    "link_plan",
    "link_run",
    "logged",
    "measurement",
    "observed",
    "oracle_search",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
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
    """Invalid input: an unknown key, unit or name, or a value out of range.

    The message is one line that names the place and the valid choices.
    """

class RunError(RuntimeError):
    """A run failed, for example because a scheduler written in Python raised an exception."""

class TransferError(RunError):
    """A file was not sent, or not received; the message is one line with the reason."""

class OutputError(ValueError):
    """An output path that is not writable; the message is one line with the path and the reason."""

class ConformanceError(AssertionError):
    """A scheduler broke one of the rules that `check_scheduler` tests."""

def link_plan(file: str) -> str:
    """Return the addresses and interfaces of `link_run` for a scenario file, as JSON.

    Raises ScenarioError.
    """

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
    """Run a command on a scenario file's links; return its exit status and counters as JSON.

    Durations are in nanoseconds. The calling thread stays in the command's network namespace, so
    call this function last in a process. Raises RunError where the system forbids namespaces.
    """

@final
class LinkSockets:
    """The emulated links between UDP sockets on loopback addresses and a target."""

    def __new__(cls, file: str, target: str, *, port: int, seed: int | None) -> Self: ...
    def plan(self) -> str:
        """Return the addresses as JSON, in the form of `link_plan`."""

    def port(self) -> int:
        """Return the port, which is the same for all paths."""

    def run(self, command: Sequence[str], *, spin: int) -> str:
        """Relay packets while a command runs; return its exit status and counters as JSON.

        Without a command, relay until an interrupt.
        """

@final
class Scenario:
    """A valid scenario. It does not change, and copies share it."""

    name: str
    seed: int
    duration_ns: int
    json: str
    """Canonical JSON: every default is filled in, and files have absolute paths."""
    own_controllers: list[str]
    """Names of the congestion controllers of users, with absolute paths."""

    def __new__(
        cls, text: str, origin: str, base: str | PathLike[str], *, format: Literal["toml", "json"] = "toml"
    ) -> Scenario:
        """Read a scenario given as text.

        Messages name `origin`. Paths of trace files are relative to `base`. Raises ScenarioError.
        """

    @staticmethod
    def load(file: str | PathLike[str]) -> Scenario:
        """Read a scenario file, in JSON if its name ends in ".json". Raises ScenarioError."""

    def bounds(self) -> str:
        """Return the bounds of the scenario's metrics as JSON, the tightest one first."""

    def __getnewargs_ex__(self) -> tuple[tuple[str, str, str], dict[str, str]]: ...

def schedulers() -> str:
    """Return the built-in schedulers as a JSON list.

    Keys: name, title, summary, source, needs, parameters, options.
    """

def scenario_keys() -> str:
    """Return every scenario key as a JSON list: table, key, kind, default, doc."""

def verdicts() -> str:
    """Return the verdicts on a path in a decision as a JSON list: name, kind, meaning."""

def measurement() -> str:
    """Return a name for the version of the code that computes metrics, from captures too.

    It changes whenever that code changes.
    """

def parse_duration(text: str) -> int:
    """Return the nanoseconds of a duration with unit, such as "20ms". Raises ScenarioError."""

def parse_rate(text: str) -> int:
    """Return the bits per second of a rate with unit, such as "10Mbit". Raises ScenarioError."""

def parse_bytes(text: str) -> int:
    """Return the bytes of an amount with unit, such as "35kB" (1000) or "64KiB" (1024).

    Raises ScenarioError.
    """

def check_scheduler(factory: Callable[[], Scheduler], name: str) -> str:
    """Run the conformance suite on a scheduler and return a summary, which begins with the name.

    Raises ConformanceError at the first broken rule.
    """

def given(instance: Scheduler | Workload | CongestionController) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments and the keywords that the constructor of an instance was given."""

@final
class Assign:
    """Give the next `segments` unassigned segments to the path with index `path`.

    Every decision takes a `reason`, one line of text, which `plait explain` and `Result.decisions`
    show. `explain` replaces `{0}` by the name of the first path, `{1}` by that of the second one,
    and so on. A line break or a control character in it raises ValueError.
    """

    path: int
    segments: int
    reason: str | None
    def __new__(cls, path: int, segments: int = 1, *, reason: str | None = None) -> Assign: ...

@final
class Reinject:
    """Send `segment`, which is in flight on another path, also on the path with index `path`."""

    path: int
    segment: int
    reason: str | None
    def __new__(cls, path: int, segment: int, *, reason: str | None = None) -> Reinject: ...

@final
class Recall:
    """Take the unsent segments back from the queue of the path with index `path`."""

    path: int
    reason: str | None
    def __new__(cls, path: int, *, reason: str | None = None) -> Recall: ...

@final
class Limit:
    """Limit the segments in flight on the path with index `path`.

    New data leaves on that path only while fewer than `in_flight` segments are in flight there.
    None removes the limit.
    """

    path: int
    in_flight: int | None
    reason: str | None
    def __new__(cls, path: int, in_flight: int | None, *, reason: str | None = None) -> Limit: ...

@final
class Penalize:
    """Halve the congestion window of the path with index `path`, because it delays the others."""

    path: int
    reason: str | None
    def __new__(cls, path: int, *, reason: str | None = None) -> Penalize: ...

@final
class Defer:
    """Let the other streams of the same priority go first. Needs `messages`."""

    reason: str | None
    def __new__(cls, *, reason: str | None = None) -> Defer: ...

@final
class Wait:
    """Assign nothing now.

    The transport asks again at the next event, or at the time `until` (seconds) at the latest.
    """

    until: float | None
    reason: str | None
    def __new__(cls, until: float | None = None, *, reason: str | None = None) -> Wait: ...

_Decision: TypeAlias = Assign | Reinject | Recall | Limit | Penalize | Defer | Wait

# The next four classes are generated from crates/plait-py/src/facts.rs by `make reference`, the
# facts of congestion controllers from controller_facts.rs.

@final
class Path:
    """The facts of one path at the time of a decision."""

    index: int
    """The path's number, from 0 in the scenario's order; no unit."""
    name: str
    """The path's name in the scenario."""
    state: str
    """`active`, `backup`, `potentially-failed` or `failed`."""
    usable: bool
    """Whether the path may take new data now, the rule for backups included."""
    open: bool
    """Whether a segment assigned now would leave at once: the path is usable, and both windows have
    room."""
    room: int
    """Number of segments that would leave at once; 0 unless `open`."""
    srtt: float | None
    """Smoothed round-trip time in seconds; None before the first sample."""
    rttvar: float | None
    """Mean deviation of the round-trip time in seconds; None before the first sample."""
    latest_rtt: float | None
    """The latest sample of the round-trip time in seconds; None before the first."""
    own_rtt: float | None
    """Smoothed round-trip time in seconds of packets whose acknowledgement also came back on this
    path; None before the first sample. Over MPTCP it equals `srtt`. Over CMT-SCTP, `srtt` is
    smaller, because acknowledgements of packets of a long path arrive over a short path first."""
    min_rtt: float | None
    """The smallest sample of `own_rtt`, in seconds; None before the first."""
    rto: float
    """Retransmission timeout in seconds, back-off included."""
    mss: int
    """Payload bytes of a full segment."""
    cwnd: int
    """Congestion window in segments."""
    ssthresh: int | None
    """Slow-start threshold in segments; None while there is none."""
    in_flight: int
    """Segments in flight."""
    lost: int
    """Segments considered lost that wait for retransmission on this path; they leave before new
    data."""
    queued: int
    """Segments assigned and not yet sent."""
    limit: int | None
    """Limit of the scheduler for segments in flight (`Limit`); None without a limit."""
    forward_delay: float | None
    """Estimated one-way delay towards the receiver in seconds, with one clock offset common to all
    paths; None if not measured."""
    in_recovery: bool
    """True after a timeout, until its losses are repaired: the path takes no new data."""
    repairing: bool
    """True while losses are being repaired, after a timeout or not."""
    delivery_rate: int
    """Recent delivery rate: acknowledged payload in bit/s; 0 until measured."""
    loss_rate: float
    """Share of segments lost, from 0 to 1."""
    cost: int
    """Cost of using the path, in units of the scenario's choice."""
    weight: int
    """The path's share of the data, relative to the weights of the other paths; 1 unless the
    scenario sets it."""
    uncarried: int | None
    """Number of the oldest segment in flight on other paths that this path does not carry; None
    unless the scheduler needs `uncarried`."""
    memory: int | None
    """Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a socket;
    None if the engine does not count it."""
    outstanding: int | None
    """Packets sent and not yet cumulatively acknowledged; None if the engine does not count
    `memory`."""
    pacing_rate: int | None
    """Rate at which congestion control lets packets leave, in bits per second; None if they leave
    as soon as the window admits them."""

@final
class Message:
    """The application message that contains the next segment."""

    number: int
    """Number of the message, counted from 0 in the order of writing."""
    stream: int
    """The number of its stream; no unit."""
    segments_left: int
    """Segments of the message that are still in the data queue."""
    priority: int
    """Priority between streams: a higher one goes first; no unit."""
    deadline: float | None
    """Time by which the whole message should have arrived, in seconds from the start; None without
    a deadline."""

@final
class Connection:
    """The facts of the connection at the time of a decision."""

    unassigned: int
    """Segments in the data queue, which no path has been assigned yet."""
    next_segment: int
    """Number of the next segment to be assigned, from 0."""
    fragment_left: int | None
    """Bytes from the next segment to the end of the fragment in which Linux' MPTCP keeps them; None
    without fragments."""
    window_left: int
    """Segments that the receiver's window still admits."""
    window: int
    """Segments that the receiver's window admits, counted from the oldest unacknowledged segment,
    sent or not."""
    send_buffer_left: int
    """Segments that the application can still write."""
    oldest_unacked: int | None
    """Number of the oldest segment in flight; None without data in flight."""
    finished: bool
    """Whether the application has written everything."""
    message: Message | None
    """The message that contains the next segment. This field, `streams` and `due` have values only
    for schedulers that need `messages`."""
    streams: int
    """Number of streams of the same priority with data in the data queue: `Defer` chooses between
    them."""
    due: float | None
    """The earliest deadline of the messages that are not fully acknowledged, in seconds from the
    start; None without a deadline."""
    writer_waits: bool
    """True while the application waits because it has more data to write than there is room for;
    False if the engine does not know."""

@final
class Event:
    """An event on a path."""

    kind: str
    """Kind of the event: `sent`, `acked`, `lost`, `timeout`, `path-down` or `path-up`."""
    path: int
    """Number of the path, from 0."""

class Scheduler:
    """Base of a scheduler written in Python: override `decide`, optionally `on_event`.

    The class attributes declare the features of the transport that the scheduler needs besides
    plain assignment.
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
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Set parameters by name: annotated attributes of the class. TypeError names a wrong one."""

    def decide(self, now: float, connection: Connection, paths: list[Path]) -> _Decision:
        """Decide the next step at the time `now` (seconds); called until it returns Wait."""

    def on_event(self, event: Event, connection: Connection, paths: list[Path]) -> None:
        """Take note of a packet sent, acknowledged or lost, a timeout, or a path up or down."""

class Workload:
    """Base of a workload written in Python: override `begin`, optionally the other methods.

    A method returns a step, a list of steps, or None. Steps are `Write`, `Request`, `Wait` and
    `End`.
    """

    requests: bool
    """Whether its messages are requests of a client at the receiving end, which the sending end
    answers at once; a class attribute, False by default."""
    def __new__(cls, *arguments: object, **keywords: object) -> Self: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Set parameters by name: annotated attributes of the class. TypeError names a wrong one."""

    def begin(self) -> _Steps:
        """Return the first steps, at the start of the run."""

    def on_time(self, now: float) -> _Steps:
        """Return the next steps at the time (seconds) until which the workload waits."""

    def on_delivered(self, now: float, delivery: Delivery) -> _Steps:
        """Return the next steps when a block or a response was delivered wholly (seconds)."""

@final
class Write:
    """Write a block of `bytes` payload bytes.

    The time of writing is `at` (seconds from the start), by default now. The block should be
    delivered within `deadline` (seconds). With protocols that have streams, streams with a higher
    priority are sent first.
    """

    def __new__(
        cls,
        bytes: int,
        *,
        at: float | None = None,
        deadline: float | None = None,
        stream: int = 0,
        priority: int = 0,
    ) -> Write: ...

@final
class Request:
    """Write a request of `request` payload bytes; the sending end answers with `response` bytes.

    The time of writing is `at` (seconds from the start), by default now. The response should be
    delivered within `deadline` (seconds) of it. `stream` and `priority` are those of the response.
    """

    def __new__(
        cls,
        response: int,
        *,
        request: int = 200,
        at: float | None = None,
        deadline: float | None = None,
        stream: int = 0,
        priority: int = 0,
    ) -> Request: ...

@final
class End:
    """Write no message beyond those of the steps so far; the run ends when all are delivered."""

    def __new__(cls) -> End: ...

@final
class Delivery:
    """A block or a response that was delivered wholly."""

    number: int
    """Number of the message in the order of writing, from 0."""
    bytes: int
    """Its size, in payload bytes."""
    stream: int
    """The number of its stream; no unit."""
    written: float
    """The time at which the block or the request was written, in seconds from the start."""

_Step: TypeAlias = Write | Request | Wait | End
_Steps: TypeAlias = _Step | Iterable[_Step] | None

@final
class PathShare:
    """The state of one path, for controllers that couple paths."""

    window: int
    """Congestion window in bytes."""
    srtt: float | None
    """Smoothed round-trip time in seconds; None before the first sample."""
    usable: bool
    """False for a path that is not established, or that has failed."""

@final
class RateSample:
    """A sample of the delivery rate: `delivered` bytes in `interval` seconds."""

    delivered: int
    """Bytes that the path delivered in the interval."""
    interval: float | None
    """The interval in seconds; None if the acknowledgement gives no sample."""
    prior: int
    """Bytes that the path had delivered when the newest acknowledged packet left."""
    total: int
    """Bytes that the path has delivered in all."""
    app_limited: bool
    """True if the application, the scheduler or the receiver limited the sender when that packet
    left."""
    lost: int
    """Bytes that the acknowledgement shows to be lost."""
    in_flight: int
    """Bytes in flight after the acknowledgement."""

@final
class Acknowledgement:
    """Newly acknowledged data of one path, from one acknowledgement."""

    now: float
    """The time in seconds from the start."""
    bytes: int
    """Bytes newly acknowledged, as windows count them."""
    packets: int
    """Packets newly acknowledged."""
    may_grow: bool
    """Whether the window may grow: no losses are being repaired."""
    repairing: str | None
    """Losses that are being repaired: `losses` that later acknowledgements showed, those of a
    `timeout`, or None."""
    in_flight: int
    """Bytes of the window that were in use before the acknowledgement."""
    limited: bool
    """Whether data waited for room in the window while the oldest acknowledged packet was in
    flight."""
    srtt: float
    """Smoothed round-trip time in seconds."""
    rtt: float | None
    """The round trip in seconds of the oldest acknowledged packet; None without a sample."""
    newest_rtt: float | None
    """The round trip in seconds of the newest acknowledged packet; None without a sample."""
    path: int
    """The number of the path in `paths`, from 0."""
    paths: list[PathShare]
    """All paths of the connection, in the scenario's order."""
    rate: RateSample | None
    """A sample of the delivery rate; None unless the controller set `pacing_rate` in `start`."""

@final
class CongestionEvent:
    """An event on a controller's path. Fields that its kind does not have are None."""

    kind: str
    """The kind. `loss`: later acknowledgements showed a loss; once per window of data. `mark`: the
    receiver reported marked packets; once per window of data. `timeout`: the retransmission timer
    ran out. `collapse`: the window is to be `window`, after a timeout or persistent congestion.
    `undone`: the last reduction was unnecessary. `penalty`: the scheduler halves the window.
    `idle`: no packet left for one retransmission timeout. `resumed`: a packet leaves after no
    packet was in flight. `drained`: all data in flight was acknowledged. `measured`: a handshake
    measured the round trip."""
    now: float
    """The time in seconds from the start."""
    outstanding: int | None
    """Of `loss`, `mark` and `timeout`: bytes sent and not cumulatively acknowledged."""
    repairing: bool | None
    """Of `timeout`: whether the losses of the last reduction were still being repaired."""
    window: int | None
    """Of `collapse`: the new window in bytes. Of `undone`: the window before the reduction."""
    threshold: int | None
    """Of `undone`: the threshold in bytes before the reduction; None if there was none."""
    idle: float | None
    """Of `resumed`: seconds since the packet before it left."""
    app_limited: bool | None
    """Of `resumed`: whether the path had no data, and not only no room."""
    rtt: float | None
    """Of `measured`: the round trip in seconds."""

class CongestionController:
    """Base of a congestion controller written in Python: override `on_ack` and `on_event`.

    Each path of each end has an instance. A method sets `window`, and `threshold` or `pacing_rate`
    if it wants to. Amounts are in bytes as the protocol's windows count them, and rounded down.
    """

    window: float
    """Congestion window in bytes; less than a segment counts as a segment. Begins as
    `initial_window`."""
    threshold: float | None
    """Slow-start threshold in bytes, for schedulers and metrics; None for none. Begins as the
    scenario's `initial_ssthresh`."""
    pacing_rate: float | None
    """Rate in bytes per second at which packets leave; None if they leave as soon as the window
    admits them. A controller that paces sets it in `start`."""
    segment: int
    """Bytes that a full segment counts in windows; set before `start`."""
    initial_window: int
    """The scenario's `initial_window` in bytes; set before `start`."""
    def __new__(cls, *arguments: object, **keywords: object) -> Self: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Set parameters by name: annotated attributes of the class. TypeError names a wrong one."""

    def start(self) -> None:
        """Prepare, before any other call."""

    def on_ack(self, ack: Acknowledgement) -> None:
        """Take note of newly acknowledged data."""

    def on_event(self, event: CongestionEvent) -> None:
        """Take note of a loss, a timeout and the like."""

@final
class Library:
    """A shared library of the user's classes with the C interface of plait-sched-ffi.

    It stays loaded until the process ends.
    """

    classes: dict[str, list[tuple[str, str]]]
    """Names and summaries of each role's classes: of ``scheduler``, ``controller``, ``workload``."""
    source: str | None
    """The source text of the library, if the library provides it."""
    def __new__(cls, path: str | PathLike[str]) -> Library:
        """Load a library.

        Raises ScenarioError, without the path in its message: the library cannot be loaded, or
        lacks a function or part of a class.
        """

    def scheduler(self, name: str, parameters: str) -> Foreign:
        """Return the scheduler of this name with parameters ("share=0.5:most=3").

        Raises ScenarioError: the scheduler cannot be made.
        """

    def controller(self, name: str, parameters: str) -> ForeignController:
        """Return the congestion controller of this name; see `scheduler`."""

    def workload(self, name: str, parameters: str) -> ForeignWorkload:
        """Return the workload of this name; see `scheduler`."""

@final
class Foreign:
    """A scheduler of a shared library, with its parameters; every run makes its own instance."""

@final
class ForeignController:
    """A congestion controller of a shared library; every path of a run makes its own instance."""

@final
class ForeignWorkload:
    """A workload of a shared library, with its parameters; every run makes its own instance."""

@final
class Job:
    """One run to be made: a scenario, its changes, and the data to record."""

    scenario: Scenario
    """The scenario of the run, with the job's scheduler and seed."""

    def __new__(
        cls,
        scenario: Scenario,
        *,
        scheduler: str | None = None,
        python_scheduler: object | None = None,
        foreign: Foreign | None = None,
        workload: Workload | ForeignWorkload | None = None,
        controllers: Mapping[str, Callable[[], CongestionController] | ForeignController] | None = None,
        seed: int | None = None,
        packets: bool = False,
        series_ns: int | None = None,
        decisions_from_ns: int | None = None,
        pcap: Sequence[str | PathLike[str]] | None = None,
    ) -> Job:
        """Describe a run.

        `controllers` create the scenario's own congestion controllers, by their names there.
        Decisions are recorded from `decisions_from_ns` on, with the last one before that time;
        None records none. `pcap` has one path prefix per network path: the captures of both ends
        are written there, with "-sender.pcapng" and "-receiver.pcapng" added.
        """

    def refusal_of_quic(self) -> tuple[str, str] | None:
        """Return the first part of the job that QUIC connections cannot carry.

        The result is the key with its value, and the reason; None if they can carry all.
        """

    def refusal_of_usrsctp(self) -> tuple[str, str] | None:
        """Return the first part of the job that FreeBSD's SCTP stack cannot express.

        The result is the key with its value, and the reason; None if it can express all.
        """

    def demands(self, least_ns: int, most: int) -> list[list[tuple[int, int, int]]] | None:
        """Return the requests of each client of a workload of requests.

        An entry has the bytes of request and response, and the nanoseconds of thinking time. There
        are as many requests as possible if each takes at least `least_ns`; None if one client has
        more than `most` requests.
        """

    def on_times(self) -> tuple[list[tuple[int, int]], list[list[tuple[int, int]]]]:
        """Return the on times of the workload, then of each flow, as pairs in nanoseconds.

        A pair is the start and the length of an on time.
        """

@final
class ArrowTable:
    """A table that any Arrow library reads without copying."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    """The result of one run: its JSON and the recorded tables."""

    json: str
    silence: str | None
    """Message for a custom scheduler that never sent although it could ("never decided to send: 3
    calls, …")."""
    def packets(self) -> ArrowTable | None: ...
    def requests(self) -> ArrowTable | None: ...
    def path_series(self) -> ArrowTable | None: ...
    def connection_series(self) -> ArrowTable | None: ...
    def decisions(self) -> ArrowTable | None: ...
    def decision_paths(self) -> ArrowTable | None: ...

def pick(document: str, places: Sequence[str]) -> str:
    """Return the values at some places in a run's JSON ("/metrics/goodput_bps"), as a JSON list.

    A missing value is null. Queues are found by name and direction
    ("/queues/dsl/forward/packets_sent").

    Raises ScenarioError: the document is not JSON.
    """

@final
class Pool:
    """Threads that make submitted runs; 0 threads: one per core. `places`: see `pick`."""

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
        controllers: Sequence[ForeignController] = ...,
        workload: ForeignWorkload | None = None,
        seed: int | None = None,
    ) -> None:
        """Submit a run.

        Messages name `origin`; paths of traces are relative to `base`. `controllers` are those of
        the scenario's own congestion controllers, in its order.
        """

    def take(self, seconds: float) -> tuple[int, str | None, str | None] | None:
        """Return the next finished run: ticket, values (as of `pick`) or None, message or None.

        None if no run finished within `seconds`.

        Raises ScenarioError if the run's scenario is not valid.
        """

    def close(self) -> None:
        """Stop the runs in progress and the threads."""

def run(
    jobs: Sequence[Job],
    *,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    quic: bool = False,
    usrsctp: str | PathLike[str] | None = None,
) -> list[Run]:
    """Make the runs on `threads` threads (0: one per core); results in the order of the jobs.

    With `quic`, use QUIC connections on the simulator's links; `Job.refusal_of_quic` names the
    parts of a job that they cannot carry. With `usrsctp`, use FreeBSD's SCTP stack in this program;
    `Job.refusal_of_usrsctp` names the parts that it cannot express.

    An exception that a scheduler written in Python raises passes through. Raises OutputError: a
    capture cannot be written.
    """

def oracle_search(
    job: Job,
    *,
    seconds: float,
    evaluations: int | None = None,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> tuple[Run, str]:
    """Search the best schedule of the job's scenario.

    Return its run with the job's records, and JSON: `value`, `runs`, `best_scheduler`,
    `best_scheduler_value` and `plan`.

    Raises ScenarioError if the workload is not bulk data, a file or blocks at a constant rate, and
    RunError if no scheduler's run has a value.
    """

def observed(job: Job, folder: str | PathLike[str]) -> Run:
    """Read the files that `job`'s run over real hosts left in `folder`: captures, counters, logs.

    The run has the same JSON and tables as a run of the simulator, with the engine "linux". A table
    is missing if the folder lacks its source. Raises RunError: a file is missing, malformed or
    contradicts the others or the scenario.
    """

def logged(file: str | PathLike[str]) -> list[tuple[int, int, ArrowTable, ArrowTable]]:
    """Read the decisions of a kernel's scheduler from a file of `plait-mptcp log --out`.

    Each connection has its token, its number of paths, and the tables of decisions and of their
    paths. Time 0 is that of its first decision. Raises ScenarioError: the file cannot be read, or
    is no log.
    """

class _Host(Protocol):
    """The functions that a program adds to the commands of the core."""

    def scheduler(self, text: str) -> object: ...
    def recorded(self, folder: str, text: str) -> None: ...

def transfer_command(arguments: list[str], host: _Host) -> int:
    """Run send, recv or proxy with its arguments, the program's name first; return its exit status.

    An exception of a scheduler or of the host passes through.
    """

def transfer_options(command: str) -> str:
    """Return the help, arguments and options of a command, as JSON.

    Raises KeyError: the command is unknown.
    """

def transfer_scheduler(interop: bool) -> str:
    """Return the name of the default scheduler of a transfer."""

@final
class Sending:
    """A file ready to be sent over several paths.

    Without a file, a question whether the receiver would accept one.
    """

    paths: list[str]
    """The local address of each path, followed by %INTERFACE where the path is bound to one."""
    def __new__(
        cls,
        file: str | PathLike[str] | None,
        connecting: Mapping[str, Any],
        *,
        record: tuple[str | PathLike[str], str] | None = None,
        interop: bool = False,
    ) -> Sending:
        """Open the file and resolve the addresses.

        `connecting` has every key of `PathOptions`, and "to". `record` has the folder and the
        scheduler's label.

        Raises ScenarioError: an argument is invalid, or a file, address or interface is not
        available.
        """

    def run(
        self,
        *,
        scheduler: str | None = None,
        own: object | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> str:
        """Send the file, once; return the result as JSON.

        `scheduler` is JSON; `progress` is called with JSON twice a second.

        An exception that a scheduler or `progress` raises passes through. Raises TransferError.
        """

    def stop(self) -> None:
        """Stop the transfer, from any thread: `run` raises TransferError."""

@final
class Recording:
    """The recording of a transfer over real paths: every action and every event of its sender."""

    json: str
    """Description of the transfer."""
    def __new__(cls, file: str | PathLike[str]) -> Recording:
        """Raises ScenarioError: the file cannot be read, or is not a recording."""

    def transmissions(self) -> ArrowTable:
        """Return one row per transmission.

        Columns: path, segment, bytes, sent_ns, acknowledged_ns, waited_ns, lost. acknowledged_ns:
        the time at which the sender received the acknowledgement, null without one. waited_ns: the
        delay before the acknowledgement, as reported by the receiver. lost: whether the
        transmission was ever declared lost.
        """

    def run(self, job: Job) -> Run:
        """Return the run; the job's scenario provides its name and the names of its paths.

        Raises ScenarioError: the scenario has other paths.
        """

@final
class Receiving:
    """A receiver that stores files in a folder."""

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
        """Raises ScenarioError: an argument is invalid, or the folder or address is unusable."""

    def run(self, news: Callable[[str], object]) -> None:
        """Receive until `stop`, once.

        `news` is called with JSON of every event; its exceptions pass through.

        Raises TransferError.
        """

    def stop(self) -> None:
        """Stop receiving, from any thread, and notify the senders."""
