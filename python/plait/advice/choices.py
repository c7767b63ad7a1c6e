"""Options beside links and traffic, and their defaults."""

from typing import Literal, get_args

PROTOCOLS = ("mptcp", "cmt-sctp")
CONTROLS = {"cubic": "CUBIC", "bbr": "BBR"}
"""Congestion controls of Linux that matter for a choice of links, with their names in text."""
Direction = Literal["down", "up"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
"""Direction of the data: from the server to the multihomed client, or from the client."""
RECEIVE_BUFFER = "6MiB"
"""Default limit of a TCP connection's receive buffer in Linux (the last number of
net.ipv4.tcp_rmem)."""
