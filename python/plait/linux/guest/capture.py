"""The captures of both hosts, which tcpdump writes into the run's folder."""

from __future__ import annotations

import signal
import subprocess
import time

from .network import Tools
from .plan import RECEIVER, SENDER, Plan
from .system import FOLDER, Namespaces

HEADERS = 100
"""Bytes of each packet that are kept: 20 of the capture's own header, IP's 20, TCP's with options at most 60."""
BUFFER_KIB = 16384
PATIENCE_SECONDS = 1.5
"""tcpdump is given packets a second late at most, and leaves alone what it has not been given when it ends."""
FILES = {SENDER: "sender.pcap", RECEIVER: "receiver.pcap"}


class Captures:
    """Everything that carries data, of the connection and of the flows: it goes to their ports."""

    def __init__(self, plan: Plan, namespaces: Namespaces, tools: Tools) -> None:
        ports = [plan.connection.port, *(flow.port for flow in plan.flows)]
        self._running = []
        for name, file in FILES.items():
            command = [tools["tcpdump"], "-i", "any", "-n", "-Z", "root", "-s", str(HEADERS)]
            command += ["-B", str(BUFFER_KIB), "--time-stamp-precision=nano", "-w", str(FOLDER / file)]
            command += [f"dst portrange {min(ports)}-{max(ports)}"]
            with namespaces.inside(name):
                process = subprocess.Popen(command, stderr=subprocess.PIPE)
            assert process.stderr is not None
            for line in process.stderr:
                if b"listening on" in line:
                    break
            else:
                message = f"tcpdump did not start, exit status {process.wait()}"
                raise OSError(message)
            self._running.append(process)

    def close(self) -> None:
        """Ends them, when nothing comes any more; OSError if one missed packets or could not write."""
        time.sleep(PATIENCE_SECONDS)
        for process in self._running:
            process.send_signal(signal.SIGINT)
        for process in self._running:
            _, said = process.communicate()
            missed = [line for line in said.splitlines() if b"dropped by kernel" in line]
            if process.returncode != 0 or not missed or not missed[0].startswith(b"0 "):
                message = f"tcpdump: {said.decode().strip()}"
                raise OSError(message)
