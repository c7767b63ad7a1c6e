"""What may be chosen beside links and traffic, and what is taken if nothing is said."""

from typing import Literal, get_args

PROTOCOLS = ("mptcp", "cmt-sctp")
Direction = Literal["down", "up"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
"""Which way the data goes: from the server to the client with several links, or from the client."""
RECEIVE_BUFFER = "6MiB"
"""What Linux lets a TCP connection have at most, unless told otherwise (the last number of net.ipv4.tcp_rmem)."""
