"""What may be chosen beside links and traffic, and what is taken if nothing is said."""

PROTOCOLS = ("mptcp", "cmt-sctp")
RECEIVE_BUFFER = "6MiB"
"""What Linux lets a TCP connection have at most, unless told otherwise (the last number of net.ipv4.tcp_rmem)."""
