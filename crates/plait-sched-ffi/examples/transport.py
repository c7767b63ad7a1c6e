"""A small transport in Python around a scheduler of the C library.

Windows in bytes, two streams, a path whose index is used again.

    cargo build -p plait-sched-ffi
    python crates/plait-sched-ffi/examples/transport.py target/debug/libplait_sched_ffi.so lowest-rtt

It gives the same results as examples/transport.rs of plait-sched, to the nanosecond; that file
explains the reasons.
"""

import bisect
import ctypes
import sys
from collections import deque
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass, field

WAIT, ASSIGN, REINJECT, RECALL = range(4)
SENT, ACKED, LOST, TIMEOUT, PATH_DOWN, PATH_UP = range(6)
NEEDS_ASSIGN_AHEAD, NEEDS_RECALL = 1, 2
ACTIVE, FAILED = 0, 3

MSS = 1200
FIRST_WINDOW, LAST_WINDOW = 12_000, 48_000
RECEIVE_WINDOW = 64
MS = 1_000_000


class Path(Structure):
    """The first version of `plait_path` of plait_sched.h."""

    _fields_ = (
        *((name, c_uint32) for name in ("size", "state")),
        *((name, c_uint8) for name in ("in_recovery", "repairing", "has_forward_delay", "reserved")),
        *(
            (name, c_uint32)
            for name in (
                "mss",
                "cwnd",
                "ssthresh",
                "in_flight",
                "lost",
                "queued",
                "limit",
                "loss_ppm",
                "cost",
            )
        ),
        *((name, c_uint64) for name in ("srtt", "rttvar", "latest_rtt", "own_rtt", "min_rtt")),
        ("forward_delay", c_int64),
        *((name, c_uint64) for name in ("rto", "delivery_rate")),
    )


class Connection(Structure):
    """The first version of `plait_connection`.

    The library reads its size, and later fields keep their defaults.
    """

    _fields_ = (
        ("size", c_uint32),
        *((name, c_uint8) for name in ("finished", "has_oldest", "writer_waits", "reserved")),
        *(
            (name, c_uint64)
            for name in ("unassigned", "next_segment", "window_left", "send_buffer_left", "oldest_segment")
        ),
        *((name, c_uint32) for name in ("oldest_path", "oldest_carried")),
    )


class Decision(Structure):
    """`plait_decision`."""

    _fields_ = (
        *((name, c_uint32) for name in ("size", "kind", "path", "segments")),
        *((name, c_uint64) for name in ("segment", "until")),
    )


class Event(Structure):
    """`plait_event`."""

    _fields_ = (
        *((name, c_uint32) for name in ("size", "kind", "path", "segments")),
        *((name, c_uint64) for name in ("segment", "rtt")),
        *((name, c_uint32) for name in ("retransmission", "reserved")),
    )


class Scheduler:
    """A scheduler of the library; errors become exceptions with the library's message."""

    def __init__(self, library: str, text: str) -> None:
        self.library = ctypes.CDLL(library)
        self.library.plait_error_message.restype = c_char_p
        declared = {
            "plait_scheduler_new": [c_char_p, POINTER(c_void_p)],
            "plait_scheduler_free": [c_void_p],
            "plait_scheduler_needs": [c_void_p],
            "plait_scheduler_interest": [c_void_p],
            "plait_path_init": [POINTER(Path), c_uint32, c_uint32],
            "plait_connection_init": [POINTER(Connection), c_uint32],
            "plait_scheduler_decide": [
                c_void_p,
                c_uint64,
                POINTER(Connection),
                POINTER(Path),
                c_uint32,
                POINTER(Decision),
            ],
            "plait_scheduler_on_event": [
                c_void_p,
                POINTER(Event),
                POINTER(Connection),
                POINTER(Path),
                c_uint32,
            ],
        }
        for name, arguments in declared.items():
            function = getattr(self.library, name)
            function.argtypes = arguments
            function.restype = c_int32
        self.handle = c_void_p()
        self.must(self.library.plait_scheduler_new(text.encode(), byref(self.handle)))
        self.needs: int = self.library.plait_scheduler_needs(self.handle)
        self.interest: int = self.library.plait_scheduler_interest(self.handle)

    def must(self, code: int) -> None:
        """Raise the library's message, unless the call succeeded."""
        if code != 0:
            raise ValueError(self.library.plait_error_message().decode())

    def path(self) -> Path:
        """A path without measurements."""
        path = Path()
        self.must(self.library.plait_path_init(byref(path), ctypes.sizeof(path), MSS))
        return path

    def connection(self) -> Connection:
        """A connection without data."""
        connection = Connection()
        self.must(self.library.plait_connection_init(byref(connection), ctypes.sizeof(connection)))
        return connection

    def decide(self, now: int, connection: Connection, paths: ctypes.Array[Path]) -> Decision:
        """Ask for one decision."""
        decision = Decision(size=ctypes.sizeof(Decision))
        self.must(
            self.library.plait_scheduler_decide(
                self.handle, now, byref(connection), paths, len(paths), byref(decision)
            )
        )
        return decision

    def tell(self, event: Event, connection: Connection, paths: ctypes.Array[Path]) -> None:
        """Report an event."""
        event.size = ctypes.sizeof(event)
        self.must(
            self.library.plait_scheduler_on_event(
                self.handle, byref(event), byref(connection), paths, len(paths)
            )
        )

    def close(self) -> None:
        """Free the scheduler."""
        self.library.plait_scheduler_free(self.handle)


@dataclass(order=True)
class Segment:
    """Some bytes of a stream; the numbers give the order in which segments left the queue."""

    number: int
    stream: int
    size: int
    sent: int = 0
    acked: int = 0


@dataclass
class Way:
    """A path: its link, and the state of the sender."""

    facts: Path
    nanos_per_byte: int
    delay: int
    link_free: int = 0
    sent: int = 0
    window: int = FIRST_WINDOW
    in_flight: int = 0
    queue: deque[Segment] = field(default_factory=deque)
    flight: deque[Segment] = field(default_factory=deque)


class Transport:
    """The sender, and the network with it."""

    def __init__(self, scheduler: Scheduler) -> None:
        if scheduler.needs & ~(NEEDS_ASSIGN_AHEAD | NEEDS_RECALL):
            raise ValueError("the scheduler needs more than this transport can do")
        self.scheduler = scheduler
        self.ways = [self.way(8, 10), self.way(16, 30)]
        self.facts = (Path * len(self.ways))()
        self.unsent = [600_000, 100_000]
        self.missing = list(self.unsent)
        self.finished = [0, 0]
        self.returned: list[Segment] = []
        self.next_number = self.turn = self.sent_again = 0

    def way(self, mbit: int, delay_ms: int, now: int = 0, sent: int = 0) -> Way:
        return Way(self.scheduler.path(), 8000 // mbit, delay_ms * MS, link_free=now, sent=sent)

    def refresh(self) -> None:
        """Convert bytes to segments: `cwnd` less `in_flight` has to be the number that may leave."""
        for index, way in enumerate(self.ways):
            room = max(way.window - way.in_flight, 0) // MSS
            way.facts.cwnd = way.window // MSS
            way.facts.in_flight = max(way.facts.cwnd - room, 0)
            way.facts.queued = len(way.queue)
            self.facts[index] = way.facts

    def connection(self) -> Connection:
        view = self.scheduler.connection()
        following = self.returned[0].number if self.returned else self.next_number
        flights = [(s.number, i) for i, way in enumerate(self.ways) for s in way.flight]
        heads = [way.queue[0].number for way in self.ways if way.queue]
        base = min([following, *heads, *(number for number, _ in flights)])
        if flights:
            view.has_oldest = 1
            view.oldest_segment, view.oldest_path = min(flights)
            view.oldest_carried = 1 << view.oldest_path
        view.unassigned = len(self.returned) + sum(-(-left // MSS) for left in self.unsent)
        view.next_segment = following
        ahead = sum(len(way.queue) for way in self.ways)
        view.window_left = max(max(base + RECEIVE_WINDOW - following, 0) - ahead, 0)
        view.send_buffer_left = 2**64 - 1
        view.finished = 1
        return view

    def tell(self, event: Event) -> None:
        self.refresh()
        if event.kind not in (SENT, ACKED) or self.scheduler.interest >> event.kind & 1:
            self.scheduler.tell(event, self.connection(), self.facts)

    def take(self) -> Segment | None:
        if self.returned:
            return self.returned.pop(0)
        stream = self.turn if self.unsent[self.turn] else 1 - self.turn
        if not self.unsent[stream]:
            return None
        self.turn = 1 - stream
        segment = Segment(self.next_number, stream, min(self.unsent[stream], MSS))
        self.next_number += 1
        self.unsent[stream] -= segment.size
        return segment

    def send(self, now: int) -> None:
        for index, way in enumerate(self.ways):
            while way.queue and way.in_flight + way.queue[0].size <= way.window:
                segment = way.queue.popleft()
                way.link_free = max(now, way.link_free) + way.nanos_per_byte * segment.size
                segment.sent, segment.acked = now, way.link_free + 2 * way.delay
                way.flight.append(segment)
                way.in_flight += segment.size
                way.sent += 1
                self.tell(Event(kind=SENT, path=index, segment=segment.number))
        self.refresh()

    def run_scheduler(self, now: int) -> None:
        """Ask until the scheduler waits. Assigned segments leave as the windows admit."""
        self.send(now)
        while (view := self.connection()).unassigned or self.scheduler.needs & NEEDS_RECALL:
            decision = self.scheduler.decide(now, view, self.facts)
            if decision.kind == ASSIGN:
                for _ in range(decision.segments):
                    segment = self.take()
                    if segment is None:
                        break
                    self.ways[decision.path].queue.append(segment)
                self.send(now)
            elif decision.kind == RECALL:
                self.give_back(self.ways[decision.path].queue)
                self.refresh()
            else:
                return

    def give_back(self, segments: deque[Segment]) -> None:
        while segments:
            bisect.insort(self.returned, segments.popleft())

    def acknowledge(self, index: int) -> int:
        way = self.ways[index]
        segment, path = way.flight.popleft(), way.facts
        rtt = segment.acked - segment.sent
        first = path.srtt == 0
        path.rttvar = rtt // 2 if first else (path.rttvar * 3 + abs(path.srtt - rtt)) // 4
        path.srtt = rtt if first else (path.srtt * 7 + rtt) // 8
        path.min_rtt = rtt if first else min(path.min_rtt, rtt)
        path.latest_rtt, path.own_rtt = rtt, path.srtt
        way.in_flight -= segment.size
        way.window = min(way.window + segment.size, LAST_WINDOW)
        self.missing[segment.stream] -= segment.size
        if self.missing[segment.stream] == 0:
            self.finished[segment.stream] = segment.acked
        self.tell(Event(kind=ACKED, path=index, segments=1, rtt=rtt))
        return segment.acked

    def path_down(self, index: int) -> None:
        way = self.ways[index]
        way.facts.state = FAILED
        way.in_flight = 0
        self.sent_again += len(way.flight)
        self.give_back(way.flight)
        self.give_back(way.queue)
        self.tell(Event(kind=PATH_DOWN, path=index))

    def run(self) -> None:
        """Run: the second path goes away after 150 ms, another network gets its index after 300 ms."""
        changes = deque([150 * MS, 300 * MS])
        self.refresh()
        self.run_scheduler(0)
        while heads := [(way.flight[0].acked, index) for index, way in enumerate(self.ways) if way.flight]:
            at, index = min(heads)
            if changes and changes[0] <= at:
                now = changes.popleft()
                if changes:
                    self.path_down(1)
                else:
                    self.ways[1] = self.way(4, 5, now, self.ways[1].sent)
                    self.tell(Event(kind=PATH_UP, path=1))
            else:
                now = self.acknowledge(index)
            self.run_scheduler(now)


def main() -> None:
    """Run the transport."""
    library, name = sys.argv[1], sys.argv[2]
    scheduler = Scheduler(library, name)
    transport = Transport(scheduler)
    transport.run()
    first, second = transport.ways
    print(f"{name}: streams complete after {transport.finished[0]} and {transport.finished[1]} ns")
    print(f"{name}: {first.sent} and {second.sent} segments sent, {transport.sent_again} of them again")
    scheduler.close()


if __name__ == "__main__":
    main()
