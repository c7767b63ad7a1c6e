"""The guest's first process: executes the plan, writes the observations, powers off the machine."""

from __future__ import annotations

import errno
import heapq
import itertools
import json
import os
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import leaks, mib, observation, sockets
from .capture import Captures
from .counters import Counters
from .flows import Flow, make_flow
from .network import Changer, Tools, set_up
from .pace import SECOND, sleep_until
from .plan import RECEIVER, SENDER, PathPlan, Plan
from .requests import Clients, Exchange, Server
from .stream import Reader, Writer
from .system import FOLDER, Namespaces, mount, mount_all, power_off, unslack

TICKS = 100
"""Number of progress reports of a run."""


def main() -> None:
    """Run the plan. Never return, because the kernel would panic."""
    try:
        # Here /proc is still the host's: the current folder is the one in which the host started
        # this machine. So the kernel's command line, which is mixed into the random numbers, need
        # not name it.
        mount_all(str(Path("/proc/self/cwd").readlink()))
        unslack()
        order = json.loads((FOLDER / "order.json").read_text(encoding="utf-8"))
        plan = Plan.from_json(json.dumps(order["plan"]))
        Run(plan, order["tools"], order["build"]).carry_out()
        leaks.look()
    except BaseException:
        text = traceback.format_exc()
        print(text, flush=True)  # noqa: T201 - the console
        if FOLDER.exists():
            (FOLDER / "failure.txt").write_text(text, encoding="utf-8")
    finally:
        power_off()


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counters of every path, every active queue and the scheduler at one time."""

    paths: list[dict[str, int]]
    queues: list[dict[str, int]]
    scheduler: dict[str, int] | None


def await_start() -> int:
    """Wait for the scenario's time 0, and return it.

    It is a while after the machine's start, since timers are exact only after the first ticks.
    """
    start_ns = (time.time_ns() // SECOND + 1) * SECOND
    sleep_until(start_ns)
    return time.time_ns()


class Run:
    """One run of a plan, in the kernel of this build."""

    def __init__(self, plan: Plan, tools: Tools, build: str) -> None:
        self.plan = plan
        self._build = build
        self._namespaces = Namespaces()
        set_up(plan, self._namespaces, tools)
        watched = [one for path in plan.paths for one in (*path.dropped, *path.lost)]
        watched += [queue.place for queue in plan.queues]
        self._counters = Counters(self._namespaces, watched)
        self._changer = Changer(plan.changes, self._namespaces, tools)
        self._flows: list[Flow] = [make_flow(flow, self._namespaces) for flow in plan.flows]
        mount("none", "/sys/kernel/debug", "debugfs")
        self._captures = Captures(plan, self._namespaces)
        self._decisions = observation.DecisionLog(FOLDER / "decisions.bin") if plan.decisions else None
        self._series = (FOLDER / "series.bin").open("wb") if plan.series_ns is not None else None
        self._warmup: Counts | None = None
        self._start_ns = 0
        self._sending: Callable[[], socket.socket | None] = lambda: None
        """Returns the socket that sends the stream, or None before the connection exists."""
        self._exchange: Exchange | None = None

    def carry_out(self) -> None:
        """Make the run, from the first packet to the last file."""
        plan = self.plan.connection
        hosts = {SENDER: plan.sender, RECEIVER: plan.receiver}
        client_address = hosts.pop(plan.opener)
        ((server, server_address),) = hosts.items()
        with self._namespaces.inside(server):
            listener = sockets.stream_socket(plan.protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((server_address, plan.port))
        listener.listen()
        with self._namespaces.inside(plan.opener):
            connection = sockets.stream_socket(plan.protocol)
        if plan.send_buffer is not None:
            sockets.limit_send_buffer(connection, plan.send_buffer)
        connection.bind((client_address, 0))
        accepting: Reader | Server
        exchange = Exchange()
        if plan.opener == SENDER:
            accepting = Reader(listener, plan.source.size, logs=plan.source.kind == "blocks")
        else:
            self._exchange = exchange
            accepting = Server(listener, plan, self.plan.seed, exchange)
        accepting.start()

        self._start_ns = await_start()
        for flow in self._flows:
            flow.start(self._start_ns)
        writer: Writer | Server
        reader: Reader | Clients
        if isinstance(accepting, Reader):
            self._sending = lambda: connection
            reader, writer = accepting, Writer(connection, plan, self.plan.seed, self._start_ns)
            writer.start()
        else:
            self._sending = lambda: accepting.connection
            writer, reader = accepting, Clients(connection, plan, self._start_ns, exchange)
            reader.start()
        self._follow_schedule(reader)
        end_ns = reader.completed_ns or time.time_ns()
        self._conclude(writer, reader, end_ns)

    def _follow_schedule(self, reader: Reader | Clients) -> None:
        """Make the due actions until the end of the run, or until all data has arrived."""
        plan, order = self.plan, itertools.count()
        due: list[tuple[int, int, Callable[[], None]]] = []

        def at(moment_ns: int, action: Callable[[], None]) -> None:
            heapq.heappush(due, (moment_ns, next(order), action))

        for change in plan.changes:
            at(change.at_ns, lambda change=change: self._changer.make(change))  # type: ignore[misc]
        at(plan.warmup_ns, self._end_warmup)
        for tick in range(TICKS):
            at(plan.duration_ns * tick // TICKS, lambda tick=tick: self._report(tick))  # type: ignore[misc]
        sampled = 0
        while True:
            until = due[0][0] if due else plan.duration_ns
            if plan.series_ns is not None and sampled * plan.series_ns < until:
                at(sampled * plan.series_ns, self._sample)
                sampled += 1
            moment, _, action = heapq.heappop(due) if due else (plan.duration_ns, 0, None)
            left = self._start_ns + moment - time.time_ns()
            if left > 0 and reader.done.wait(left / 1e9):
                return
            if action is None:
                return
            action()

    def _end_warmup(self) -> None:
        self._warmup = self._counts()

    def _counts(self) -> Counts:
        queues, subflows = self._counters.read(), self._subflows()
        paths = []
        for path in self.plan.paths:
            subflow = subflows.get(self._ours(path))
            timeouts = 0 if subflow is None else subflow.timeouts
            paths.append({**observation.path_counts(path, queues), "timeouts": timeouts})
        active = [observation.queue_counts(queue, queues) for queue in self.plan.queues]
        return Counts(paths=paths, queues=active, scheduler=observation.scheduler_counts())

    def _report(self, tick: int) -> None:
        if self._decisions is not None:
            self._decisions.drain()
        (FOLDER / "progress").write_text(str(tick / TICKS), encoding="ascii")

    def _subflows(self) -> dict[str, sockets.Subflow]:
        """Return the subflows by their address at the opener; none before the connection exists."""
        plan, connection = self.plan.connection, self._sending()
        if connection is None:
            return {}
        # An MPTCP connection that fell back to TCP answers as a TCP connection.
        for protocol in dict.fromkeys((plan.protocol, "tcp")):
            try:
                found = sockets.subflows(connection, protocol)
            except OSError as error:
                if error.errno not in (errno.ENOTCONN, errno.EOPNOTSUPP):
                    raise
            else:
                return {one.here if plan.opener == SENDER else one.peer: one for one in found}
        return {}

    def _ours(self, path: PathPlan) -> str:
        """Return the address that distinguishes a path from the others."""
        return path.sender if self.plan.connection.opener == SENDER else path.receiver

    def _sample(self) -> None:
        assert self._series is not None
        now, subflows, queues = time.time_ns(), self._subflows(), self._counters.read()
        for index, path in enumerate(self.plan.paths):
            subflow, queue = subflows.get(self._ours(path)), observation.waiting(path, queues)
            if subflow is not None:
                self._series.write(observation.sample(now, index, subflow, queue))

    def _conclude(self, writer: Writer | Server, reader: Reader | Clients, end_ns: int) -> None:
        """Read the final counters and states, stop everything, and write the files."""
        plan = self.plan
        end, subflows = self._counts(), self._subflows()
        warmup = self._warmup or end
        error = writer.error or (reader.error if isinstance(reader, Clients) else None)
        if error is not None:
            raise error
        counters = {host: mib.read(self._namespaces, host) for host in (SENDER, RECEIVER)}
        fallback = None
        sending = self._sending()
        if (
            plan.connection.protocol == "mptcp"
            and writer.connected
            and sending
            and sockets.fell_back(sending)
        ):
            fallback = mib.why_fallen_back(counters[SENDER], counters[RECEIVER])
        self._captures.close()
        reader.stop()
        if self._decisions is not None:
            self._decisions.drain()
        if self._series is not None:
            self._series.close()
        self._changer.close()
        writer.log.write(FOLDER / "writes.bin")
        if self._exchange is not None:
            self._exchange.write(FOLDER / "requests.bin")
        if reader.logs:
            reader.log.write(FOLDER / "reads.bin")
        paths = []
        for index, path in enumerate(plan.paths):
            subflow = subflows.get(self._ours(path))
            paths.append(
                {
                    "name": path.name,
                    "sender": path.sender,
                    "receiver": path.receiver,
                    "warmup": warmup.paths[index],
                    "end": end.paths[index],
                    "srtt_us": subflow.srtt_us if subflow is not None and subflow.srtt_us else None,
                    "cwnd": None if subflow is None else subflow.cwnd,
                    "forward_delay_us": None,
                    "backward_delay_us": None,
                }
            )
        flows = [
            {
                "name": flow.name,
                "kind": flow.kind,
                "sender": flow.sender,
                "receiver": flow.receiver,
                "port": flow.port,
                "completion_ns": running.completed_ns,
            }
            for flow, running in zip(plan.flows, self._flows, strict=True)
        ]
        document: dict[str, Any] = {
            "version": observation.VERSION,
            "start_ns": self._start_ns,
            "end_ns": end_ns,
            "port": plan.connection.port,
            "paths": paths,
            "scheduler": None
            if end.scheduler is None
            else {"warmup": warmup.scheduler, "end": end.scheduler},
            # Received data was written, even if its write has not returned yet.
            "written_bytes": max(writer.written, min(reader.received, writer.offered)),
            "flows": flows,
            "queues": [
                {
                    "name": queue.name,
                    "direction": queue.direction,
                    "capture": queue.capture,
                    "receiver": plan.connection.receiver,
                    "warmup": warmup.queues[index],
                    "end": end.queues[index],
                }
                for index, queue in enumerate(plan.queues)
            ],
            "fallback": fallback,
            "kernel": {
                "release": os.uname().release,
                "build": self._build,
                "counters": {"sender": counters[SENDER], "receiver": counters[RECEIVER]},
            },
            "complete": reader.completed_ns is not None,
        }
        integrity = {"received_bytes": reader.received, "sha256": reader.sha256()}
        observation.write_json(FOLDER / "integrity.json", integrity)
        # observed.json comes last: when it exists, all other files exist too.
        observation.write_json(FOLDER / "observed.json", document)
