"""Transport options in the kernel's terms: sysctls, module parameters, options of routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plait import _core
from plait.linux.guest.plan import RECEIVER, SENDER, Setting
from plait.linux.refusals import (
    CONGESTION_CONTROLS,
    KERNEL_NAMES,
    STOCK,
    STOCK_BUFFER,
    STOCK_NAME,
    first_path,
)
from plait.scenarios.scheduler import schedulers
from plait.scenarios.units import duration_ns

Table = Mapping[str, Any]

HEADERS = {"tcp": 52, "mptcp": 72}
"""Bytes around the payload of a full packet, as the simulator counts them."""
LONG_NUMBERS = 4
"""Additional bytes in Linux' MPTCP, whose sequence numbers have 64 bits, as in the simulator's
profile."""
LARGE_BUFFER = 16 << 20
"""Bytes of a send buffer that never limits the scheduler."""
LARGEST_BUFFER = 64 << 20
STOCK_SEND_BUFFER = "4096 16384 4194304"
"""Default send buffer in bytes: minimum, initial, maximum. It grows with the window."""
PAGES_FOR_TCP = "1000000 1000000 1000000"
PACKET_MEMORY = 832
"""Bytes that a packet takes in the receive buffer beside its payload, by the kernel's
accounting."""


def settings(scenario: Table) -> list[Setting]:
    """Return files below /proc/sys and /sys/module with values, for the machine and both hosts."""
    transport = scenario["transport"]
    everywhere = {
        "/proc/sys/net/core/netdev_max_backlog": "1000000",
        "/proc/sys/net/ipv4/tcp_mem": PAGES_FOR_TCP,
    }
    controls = [one.get("congestion_control") for one in (transport, *scenario.get("flow", ()))]
    if "cubic" in controls:
        everywhere["/sys/module/tcp_cubic/parameters/hystart"] = str(int(transport["hystart"]))
    if transport["protocol"] == "mptcp" and scenario["scheduler"]["name"] != STOCK:
        everywhere |= scheduler_parameters(scenario["scheduler"]) | path_numbers(scenario)
    return [Setting(namespace="", file=file, value=value) for file, value in everywhere.items()] + [
        Setting(namespace=host, file=file, value=value)
        for host in (SENDER, RECEIVER)
        for file, value in _host(scenario).items()
    ]


def _host(scenario: Table) -> dict[str, str]:
    transport = scenario["transport"]
    buffer = receive_memory(_core.parse_bytes(transport["receive_buffer"]), full_payload(transport))
    values = {
        "net/ipv4/tcp_congestion_control": CONGESTION_CONTROLS[transport["congestion_control"]],
        # Timestamps of subflows are comparable only without a random offset per connection.
        "net/ipv4/tcp_timestamps": "2",
        "net/ipv4/tcp_rto_min_us": str(duration_ns(transport["rto_min"]) // 1000),
        # Routers hash the packet's headers. Routers of this machine see the hash that the socket
        # gave the packet. With txrehash, the socket draws a new hash after a timeout: its flow
        # would change queues in FQ-CoDel and overtake itself.
        "net/core/txrehash": "0",
        "net/ipv4/tcp_no_metrics_save": "1",
        "net/ipv4/tcp_autocorking": "0",
        "net/ipv4/tcp_moderate_rcvbuf": "0",
        "net/ipv4/tcp_rmem": f"4096 {buffer} {buffer}",
        "net/ipv4/tcp_wmem": f"4096 {LARGE_BUFFER} {LARGEST_BUFFER}",
    }
    if transport.get("ecn"):
        values["net/ipv4/tcp_ecn"] = "1"
    if transport["protocol"] == "mptcp":
        choice = scenario["scheduler"]
        base = choice["name"].split("+")[0]
        values |= {"net/mptcp/enabled": "1", "net/mptcp/scheduler": {**KERNEL_NAMES, STOCK: STOCK_NAME}[base]}
        if base == STOCK:
            # The send buffer limits the queued data of a subflow, which is a part of that rule. So
            # it has the value that users have.
            fixed = choice.get(STOCK_BUFFER, 0)
            values["net/ipv4/tcp_wmem"] = f"4096 {fixed} {fixed}" if fixed else STOCK_SEND_BUFFER
    return {f"/proc/sys/{file}": value for file, value in values.items()}


def flow_control(flow: Table) -> str | None:
    """Return the kernel's name of a flow's own congestion control; None for the host's default."""
    return CONGESTION_CONTROLS[flow["congestion_control"]] if "congestion_control" in flow else None


def full_payload(transport: Table) -> int:
    """Return the payload bytes of a full packet."""
    headers = HEADERS[transport["protocol"]]
    if transport["protocol"] == "mptcp" and transport["profile"] == "linux":
        headers += LONG_NUMBERS
    return _core.parse_bytes(transport["packet"]) - headers


def receive_memory(window: int, payload: int) -> int:
    """Return the receive buffer that, when empty, advertises a window of `window` bytes.

    Packets are assumed to have `payload` bytes. The kernel learns the payload share of its buffer
    from received packets, in parts of 256, and advertises that share. The simulator's profile
    "linux" computes the same (crates/plait-transport/src/mptcp/grant.rs).
    """
    share = max(1, 256 * payload // (payload + PACKET_MEMORY))
    return min(max(4096, -(-window * 256 // share)), (1 << 30) - 1)


def scheduler_parameters(choice: Table) -> dict[str, str]:
    """Return the given parameters of scheduler and options, by file of the module."""
    base, *suffixes = choice["name"].split("+")
    info = next(one for one in schedulers() if one["name"] == base)
    given: dict[str, str] = {}
    prefixes = {one["name"]: f"{base}_" for one in info["parameters"]}
    kinds = {one["name"]: one["kind"] for one in (*info["parameters"], *info["options"])}
    values: dict[str, Any] = {one["name"]: True for one in info["options"] if one["suffix"] in suffixes}
    values |= {name: value for name, value in choice.items() if name != "name"}
    for name, value in values.items():
        file = (prefixes.get(name, "") + name).replace("-", "_")
        match kinds[name]:
            case "number":
                file, text = f"{file}_milli", str(round(value * 1000))
            case "boolean":
                text = str(int(value))
            case _:
                text = str(value)
        given[f"/sys/module/plait/parameters/{file}"] = text
    return given


def path_numbers(scenario: Table) -> dict[str, str]:
    """Return costs and weights of paths that differ from the module's defaults, by file.

    The order is that of address identifiers: the first subflow's is 0, those of the plan's
    endpoints follow.
    """
    first = first_path(scenario)
    paths = sorted(scenario["path"], key=lambda path: bool(path["name"] != first))
    told = {}
    for key, file, nothing_said in (("cost", "path_costs", 0), ("weight", "path_weights", 1)):
        numbers = [path[key] for path in paths]
        if any(number != nothing_said for number in numbers):
            told[f"/sys/module/plait/parameters/{file}"] = ",".join(map(str, numbers))
    return told


def route_options(scenario: Table) -> str:
    """Return the transport options of the hosts' routes."""
    transport = scenario["transport"]
    window = max(1, _core.parse_bytes(transport["initial_window"]) // full_payload(transport))
    return f"initcwnd {window}" + (" quickack 1" if transport["ack_every"] == 1 else "")


def send_buffer(scenario: Table) -> int | None:
    """Return the bytes of the connection's send buffer; None if it is unlimited."""
    given = scenario["transport"]["send_buffer"]
    return None if given == "unlimited" else _core.parse_bytes(given)
