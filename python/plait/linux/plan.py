"""From a scenario to a plan: network, traffic and counters of the guest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from plait import _core
from plait.linux import refusals, topology, transport, wire
from plait.linux.guest.plan import (
    CLIENT_PORTS,
    RECEIVER,
    SENDER,
    Batch,
    Change,
    Connection,
    Counter,
    FlowPlan,
    PathPlan,
    Plan,
    QueuePlan,
    Setting,
    Source,
)
from plait.linux.topology import ADDRESS, Route, Topology
from plait.scenarios.units import duration_ns

Table = Mapping[str, Any]
Periods = Sequence[tuple[int, int]]

PORT = 5001
"""Port of the connection. Flows have the next ports."""
ANNOUNCED = "10.2.0.2"
"""An unused address that the receiver announces.

The kernel opens further subflows at the first packet from the peer after the handshake. Without the
announcement, that packet would be the acknowledgement of the first data, and data that starts late
would find no further subflow open.
"""
DECISIONS = "/sys/module/plait/parameters/log_decisions"
LOCAL_PORTS = "/proc/sys/net/ipv4/ip_local_port_range"
FORWARDING = "/proc/sys/net/ipv4/ip_forward"


def make_plan(job: _core.Job, *, series_ns: int | None = None, decisions: bool = False) -> Plan:
    """Return the plan of a run.

    Raises:
        ScenarioError: the linux engine cannot simulate the scenario; the message names place, value
            and reason.
    """
    scenario = json.loads(job.scenario.json)
    refusals.check(scenario)
    if decisions:
        refusals.check_decisions(scenario)
    on_times, flow_on_times = job.on_times()
    links = _Links(scenario)
    built = topology.build(
        links.routes(),
        _core.parse_bytes(scenario["transport"]["packet"]),
        transport.route_options(scenario),
        links.opener,
    )
    tc, changes = links.shape(built)
    settings = transport.settings(scenario)
    first = links.ends(links.path_routes[refusals.first_path(scenario)])
    routers = [name for name in built.namespaces if name not in (SENDER, RECEIVER)]
    if decisions:
        settings.append(Setting(namespace="", file=DECISIONS, value="1"))
    if links.opener == RECEIVER:
        first_port, last_port = CLIENT_PORTS
        settings.append(Setting(namespace=RECEIVER, file=LOCAL_PORTS, value=f"{first_port} {last_port}"))
    settings += [Setting(namespace=name, file=FORWARDING, value="1") for name in routers]
    return Plan(
        seed=scenario["seed"],
        duration_ns=links.duration_ns,
        warmup_ns=duration_ns(scenario["warmup"]),
        series_ns=series_ns,
        decisions=decisions,
        namespaces=built.namespaces,
        settings=settings,
        ip=_joined([*built.batches, *_endpoints(scenario, links)]),
        tc=tc,
        changes=changes,
        connection=Connection(
            protocol=scenario["transport"]["protocol"],
            sender=first[0],
            receiver=first[1],
            port=PORT,
            opener=links.opener,
            send_buffer=transport.send_buffer(scenario),
            source=_source(scenario["workload"], on_times, refusals.demands(scenario, job)),
        ),
        paths=[links.path(path, built) for path in scenario["path"]],
        flows=[
            _flow(flow, links, PORT + 1 + index, on_times)
            for index, (flow, on_times) in enumerate(
                zip(scenario.get("flow", ()), flow_on_times, strict=True)
            )
        ],
        queues=links.queues(built),
    )


class _Links:
    """The links of a scenario by router name, and the routes over them."""

    def __init__(self, scenario: Table) -> None:
        self._scenario = scenario
        self.duration_ns = duration_ns(scenario["duration"])
        self.opener = RECEIVER if scenario["workload"]["kind"] == "request-response" else SENDER
        """The host that opens the connection, and that has an address for every path."""
        self._packet = _core.parse_bytes(scenario["transport"]["packet"])
        self._shared = {link["name"]: f"l{number}" for number, link in _numbered(scenario.get("link", ()))}
        self._tables: dict[str, Table] = {
            self._shared[link["name"]]: link for link in scenario.get("link", ())
        }
        self.path_routes: dict[str, Route] = {}
        for number, path in _numbered(scenario["path"]):
            own = [f"w{number}"] if "forward" in path else []
            self._tables |= dict.fromkeys(own, path)
            shared = [self._shared[name] for name in path.get("links", ())]
            self.path_routes[path["name"]] = Route(f"10.1.{number}.1", (*own, *shared))
        self._flow_routes: dict[tuple[str, ...], Route] = {}
        for flow in scenario.get("flow", ()):
            if "links" in flow:
                names = tuple(self._shared[name] for name in flow["links"])
                number = len(self._flow_routes) + 1
                address = f"10.{3 + number // 256}.{number % 256}.1"
                self._flow_routes.setdefault(names, Route(address, names))

    def routes(self) -> list[Route]:
        """Return all routes, those of the paths first, in their order."""
        return [*self.path_routes.values(), *self._flow_routes.values()]

    def route_of(self, flow: Table) -> Route:
        """Return the route of a competing flow."""
        if "path" in flow:
            return self.path_routes[flow["path"]]
        return self._flow_routes[tuple(self._shared[name] for name in flow["links"])]

    def ends(self, route: Route) -> tuple[str, str]:
        """Return the sender's and the receiver's address."""
        return (route.address, ADDRESS) if self.opener == SENDER else (ADDRESS, route.address)

    def _users(self) -> dict[str, list[tuple[Route, bool]]]:
        """Return the routes and directions (forward or not) with data on each link."""
        users: dict[str, list[tuple[Route, bool]]] = {name: [] for name in self._tables}
        traffic = [(route, True) for route in self.path_routes.values()]
        if self.opener == RECEIVER:
            traffic += [(route, False) for route in self.path_routes.values()]
        traffic += [(self.route_of(flow), flow["direction"] == "forward") for flow in self._flows()]
        for route, forward in traffic:
            for link in route.links:
                users[link].append((route, forward))
        return users

    def _flows(self) -> Sequence[Table]:
        flows: Sequence[Table] = self._scenario.get("flow", ())
        return flows

    def shape(self, built: Topology) -> tuple[list[Batch], list[Change]]:
        """Return the queueing disciplines of all links by namespace, and their changes by time."""
        lines: dict[str, list[str]] = {}
        changes: list[Change] = []
        users = self._users()
        for link, table in self._tables.items():
            for forward, way in ((True, "forward"), (False, "backward")):
                if way not in table:
                    continue
                carries_data = any(direction == forward for _, direction in users[link])
                packet = self._packet if carries_data else wire.ACKNOWLEDGEMENT
                place, outlet = built.bottleneck(link, forward), built.outlets[link, forward]
                if "discipline" in table[way]:
                    some, steps = wire.active(table[way], place, self.duration_ns)
                else:
                    line, steps = wire.bottleneck(table[way], packet, place, self.duration_ns)
                    some = [line]
                lines.setdefault(place[0], []).extend(some)
                behind, cuts = wire.delay(table[way], outlet, self.duration_ns)
                if behind is not None:
                    lines.setdefault(outlet[0], []).append(behind)
                changes += [*steps, *cuts]
        batches = [Batch(namespace=name, lines=some) for name, some in lines.items()]
        return batches, sorted(changes, key=lambda change: change.at_ns)

    def path(self, path: Table, built: Topology) -> PathPlan:
        """Return a path with its counters, at the queues of its data and at its losses."""
        route = self.path_routes[path["name"]]
        links = [link for link in route.links if "forward" in self._tables[link]]
        return PathPlan(
            name=path["name"],
            sender=self.ends(route)[0],
            receiver=self.ends(route)[1],
            dropped=[_counter(built.bottleneck(link, forward=True)) for link in links],
            lost=[_counter(built.outlets[link, True]) for link in links],
        )

    def queues(self, built: Topology) -> list[QueuePlan]:
        """Return every active queue."""
        return [
            QueuePlan(
                name=table["name"],
                direction=way,
                place=_counter(built.bottleneck(link, forward=way == "forward")),
                capture=f"queue-{link}-{way}.pcap",
            )
            for link, table in self._tables.items()
            for way in ("forward", "backward")
            if "discipline" in table.get(way, {})
        ]


def _numbered(tables: Sequence[Table]) -> list[tuple[int, Table]]:
    return list(enumerate(tables, start=1))


def _counter(place: tuple[str, str]) -> Counter:
    namespace, device = place
    return Counter(namespace=namespace, device=device)


def _joined(batches: Sequence[Batch]) -> list[Batch]:
    """Merge the batches of each namespace: starting a program takes longer than its work."""
    lines: dict[str, list[str]] = {}
    for batch in batches:
        lines.setdefault(batch.namespace, []).extend(batch.lines)
    return [Batch(namespace=name, lines=some) for name, some in lines.items()]


def _endpoints(scenario: Table, links: _Links) -> list[Batch]:
    """Return the endpoints for which the kernel opens one subflow per path, and no other."""
    if scenario["transport"]["protocol"] != "mptcp":
        return []
    others = len(scenario["path"]) - 1
    lines = [f"mptcp limits set subflow {others} add_addr_accepted 0"]
    first = refusals.first_path(scenario)
    for path in scenario["path"]:
        if path["name"] != first:
            flags = "subflow backup" if path["backup"] else "subflow"
            lines.append(f"mptcp endpoint add {links.path_routes[path['name']].address} {flags}")
    other = lines[:1]
    if duration_ns(scenario["workload"]["start"]) > 0:
        other.append(f"mptcp endpoint add {ANNOUNCED} signal")
    hosts = (SENDER, RECEIVER) if links.opener == SENDER else (RECEIVER, SENDER)
    return [Batch(namespace=host, lines=some) for host, some in zip(hosts, (lines, other), strict=True)]


def _source(table: Table, on_times: Periods, demands: refusals.Demands = ()) -> Source:
    """Return the writes of a workload or a flow."""
    kind = (
        "requests"
        if table["kind"] == "request-response"
        else "blocks"
        if table["kind"] in ("cbr", "on-off")
        else "bulk"
    )
    block = table.get("block", table.get("packet"))
    return Source(
        kind="file" if "size" in table else kind,
        start_ns=duration_ns(table["start"]),
        stop_ns=duration_ns(table["stop"]) if "stop" in table else None,
        size=_core.parse_bytes(table["size"]) if "size" in table else None,
        block=None if block is None else _core.parse_bytes(block),
        rate_bps=_core.parse_rate(table["rate"]) if "rate" in table else None,
        periods=[list(period) for period in on_times],
        demands=[[list(demand) for demand in client] for client in demands],
        count=table.get("count"),
    )


def _flow(flow: Table, links: _Links, port: int, on_times: Periods) -> FlowPlan:
    ends = links.ends(links.route_of(flow))
    near, far = (SENDER, ends[0]), (RECEIVER, ends[1])
    sender, receiver = (near, far) if flow["direction"] == "forward" else (far, near)
    return FlowPlan(
        name=flow["name"],
        kind=flow["kind"],
        sender_namespace=sender[0],
        receiver_namespace=receiver[0],
        sender=sender[1],
        receiver=receiver[1],
        port=port,
        source=_source(flow, on_times),
        congestion_control=transport.flow_control(flow),
    )
