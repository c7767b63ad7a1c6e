"""Socket calls of programs other than sending: the kernel's engine survives them.

Needs a kernel.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NEEDS_KERNEL

from plait.linux import kernel, refusals, tools

pytestmark = [pytest.mark.kernel, NEEDS_KERNEL]

INIT = """#!/bin/sh
exec {python} -ISBc '
import ctypes, os, socket, struct, threading, traceback

MPTCP, AF_UNSPEC = 262, 0
libc = ctypes.CDLL(None, use_errno=True)

def write(path, text):
    with open(path, "w") as file:
        file.write(text)

def serve(listener, expected, got):
    connection, _ = listener.accept()
    while part := connection.recv(65536):
        got.append(part)
    connection.close()

def transfer(client, listener, size, port):
    got = []
    server = threading.Thread(target=serve, args=(listener, size, got))
    server.start()
    client.connect(("127.0.0.1", port))
    client.sendall(bytes(range(256)) * (size // 256))
    client.shutdown(socket.SHUT_WR)
    server.join()
    assert b"".join(got) == bytes(range(256)) * (size // 256), "not what was sent"

def disconnect(client):
    assert not libc.connect(client.fileno(), struct.pack("=H14x", AF_UNSPEC), 16), ctypes.get_errno()

def listen(protocol, port):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    return listener

def main():
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("debugfs", "/sys/kernel/debug")):
        libc.mount(b"none", place.encode(), kind.encode(), 0, None)
    os.system("{ip} link set dev lo up")
    port = 2000
    for name in {names}:
        write("/proc/sys/net/mptcp/scheduler", name)
        port += 2
        peers = listen(MPTCP, port), listen(0, port + 1)
        client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
        # Again and again with one socket; with a peer that knows no MPTCP, too.
        transfer(client, peers[0], 1 << 18, port)
        disconnect(client)
        transfer(client, peers[1], 1 << 18, port + 1)
        disconnect(client)
        transfer(client, peers[0], 1 << 20, port)
        # In the middle of it.
        disconnect(client)
        got = []
        server = threading.Thread(target=serve, args=(peers[0], 0, got))
        server.start()
        client.connect(("127.0.0.1", port))
        client.setblocking(False)
        try:
            while True:
                client.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        client.setblocking(True)
        disconnect(client)
        server.join()
        transfer(client, peers[0], 1 << 18, port)
        client.close()
        print("done", name, flush=True)

try:
    main()
except BaseException:
    traceback.print_exc()
finally:
    libc.reboot(0x4321fedc)
'
"""


def test_a_socket_connects_again_and_again(tmp_path: Path) -> None:
    names = [refusals.KERNEL_NAMES[one] for one in sorted(refusals.KERNEL_NAMES)]
    programs = tools.require(tools.TO_RUN)
    init = tmp_path / "init"
    shown = str(names).replace("'", '"')
    text = INIT.replace("{python}", str(Path(sys.executable).resolve())).replace("{names}", shown)
    init.write_text(text.replace("{ip}", programs["ip"]))
    init.chmod(0o755)
    command = [programs["setarch"], "-R", str(kernel.require()), "mem=512M", "root=/dev/root"]
    command += [
        "rootfstype=hostfs",
        "ro",
        f"init={init}",
        "con=null",
        "con0=null,fd:1",
        "norandmaps",
        "panic=-1",
    ]
    command += ["quiet", "time-travel=inf-cpu", "rng_seed=1", f"uml_dir={tmp_path}/uml"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    said = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("done ")]
    assert said == names, done.stdout[-3000:]
    assert "WARNING" not in done.stdout
