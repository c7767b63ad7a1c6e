"""Routers, devices, addresses and routes of a scenario.

Every link, a path's own wire or a shared one, is a pair of routers `a` and `b` joined by one
device. Rate and queue (the bottleneck) are at the device that leads from one router to the other.
Delay and loss are at the device that leaves the other router:

    sender ── a ══rate, queue══► b ──delay, loss──► next link or receiver        (backward mirrored)

If several routes leave a link, they share its delay and loss: an additional router lies between,
`c` at the sender's side or `d` at the receiver's. The hosts delay nothing, because their stacks
would notice.

The opener of connections, by default the sender, has an address for each route, which identifies
the route. Away from the opener, routers with more than one way match the source address. Only these
routers do, because each lookup costs, and there are several per packet. Towards the opener, routers
match the destination. All devices have the same hardware address and use no ARP, so the network
carries only the scenario's packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from plait.linux.guest.plan import NAMESPACES, RECEIVER, SENDER, Batch

ADDRESS = "10.2.0.1"
"""The address of the other host, which all routes share."""
HARDWARE = "02:00:00:00:00:01"
FIRST_TABLE = 1000
"""Number of the first route's routing table."""


@dataclass(frozen=True)
class Route:
    """The names of the links from the sender's `address` to the receiver, in order."""

    address: str
    links: tuple[str, ...]


@dataclass
class Topology:
    """Namespaces, commands and places of the links' disciplines.

    `outlets` gives namespace and device of a link's delay.
    """

    namespaces: list[str] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    outlets: dict[tuple[str, bool], tuple[str, str]] = field(default_factory=dict)
    """Keys are the link's name and whether the direction is forward."""

    @staticmethod
    def bottleneck(link: str, forward: bool) -> tuple[str, str]:
        """Return the namespace and the device of a link's bottleneck."""
        return (f"{link}a", f"{link}b") if forward else (f"{link}b", f"{link}a")


def build(routes: Sequence[Route], packet: int, host_options: str, opener: str = SENDER) -> Topology:
    """Return the topology of `routes`, for packets of at most `packet` bytes.

    host_options: options of the hosts' routes. opener: the host with an address for every route.
    """
    topology = Topology()
    after = _neighbours(routes, RECEIVER, forward=True)
    before = _neighbours(routes, SENDER, forward=False)
    walks = [(route, _walk(route, after, before)) for route in routes]
    for route, nodes in walks:
        for link in route.links:
            a, b = nodes.index(f"{link}a"), nodes.index(f"{link}b")
            topology.outlets[link, True] = (nodes[b], nodes[b + 1])
            topology.outlets[link, False] = (nodes[a], nodes[a - 1])
    if opener == RECEIVER:
        walks = [(route, nodes[::-1]) for route, nodes in walks]
    far = SENDER if opener == RECEIVER else RECEIVER
    edges = list(dict.fromkeys(pair for _, nodes in walks for pair in pairwise(nodes)))
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    topology.namespaces = names
    topology.batches = [Batch(namespace="", lines=[_cable(one, other, packet) for one, other in edges])]
    lines: dict[str, list[str]] = {name: ["link set dev lo up"] for name in names}
    for one, other in edges:
        lines[one].append(f"link set dev {other} arp off gso_max_segs 1 up")
        lines[other].append(f"link set dev {one} arp off gso_max_segs 1 up")
    lines[far].append(f"address add {ADDRESS}/32 dev lo")
    onward: dict[str, dict[str, None]] = {}
    for here, there in edges:
        onward.setdefault(here, {})[there] = None
    for number, (route, nodes) in enumerate(walks, start=FIRST_TABLE):
        lines[opener].append(f"address add {route.address}/32 dev {nodes[1]}")
        for here, there in pairwise(nodes):
            if here != opener and len(onward[here]) == 1:
                continue
            options = f" {host_options}" if here == opener and host_options else ""
            lines[here].append(f"rule add from {route.address} table {number}")
            lines[here].append(f"route add default dev {there} table {number}{options}")
        for there, here in pairwise(nodes):
            options = f" {host_options}" if here == far and host_options else ""
            lines[here].append(f"route add {route.address} dev {there}{options}")
    for here, ways in onward.items():
        if here != opener and len(ways) == 1:
            lines[here] += [f"route add default dev {there}" for there in ways]
    topology.batches += [Batch(namespace=name, lines=lines[name]) for name in names]
    return topology


def _cable(one: str, other: str, packet: int) -> str:
    """Create a pair of devices; each is named after its destination."""
    first = f"link add {other} address {HARDWARE} mtu {packet} netns {NAMESPACES}/{one}"
    peer = f"name {one} address {HARDWARE} mtu {packet} netns {NAMESPACES}/{other}"
    return f"{first} type veth peer {peer}"


def _neighbours(routes: Sequence[Route], host: str, *, forward: bool) -> dict[str, list[str]]:
    """Return the links or the host that routes pass after each link, or before it."""
    found: dict[str, dict[str, None]] = {}
    for route in routes:
        links = route.links if forward else route.links[::-1]
        for link, neighbour in zip(links, [*links[1:], host], strict=True):
            found.setdefault(link, {})[neighbour] = None
    return {link: list(neighbours) for link, neighbours in found.items()}


def _walk(route: Route, after: dict[str, list[str]], before: dict[str, list[str]]) -> list[str]:
    """Return the namespaces that a route's packets pass, from the sender to the receiver."""
    nodes = [SENDER]
    for link in route.links:
        nodes += [f"{link}c"] * (len(before[link]) > 1) + [f"{link}a", f"{link}b"]
        nodes += [f"{link}d"] * (len(after[link]) > 1)
    return [*nodes, RECEIVER]
