"""TCP connections over several loopback addresses by `plait proxy`, without timing."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command

from plait.results import qlog
from plait.results.recorded import read_results

OWN = '''
from plait import Assign, Scheduler, Wait


class Turns(Scheduler):
    """Takes the open paths in turns; the file with its name says that it was asked."""

    turn = 0

    def decide(self, now, connection, paths):
        self.turn += 1
        open("asked", "w").close()
        for path in [*paths[self.turn % len(paths):], *paths]:
            if path.open:
                return Assign(path.index)
        return Wait()


class Fails(Scheduler):
    def decide(self, now, connection, paths):
        raise ValueError("no more")
'''


@contextmanager
def running(
    *arguments: str, folder: Path, secret: str = "told to both ends"
) -> Iterator[subprocess.Popen[str]]:
    """Runs `plait proxy` and ends it by Ctrl-C."""
    command = [sys.executable, "-m", "plait", "proxy", *arguments]
    environment = {**os.environ, "PLAIT_SECRET": secret}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=folder
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=60)


def line(process: subprocess.Popen[str], event: str) -> dict[str, Any]:
    """Reads lines of JSON up to the next one for an event."""
    assert process.stdout is not None
    while text := process.stdout.readline():
        found: dict[str, Any] = json.loads(text)
        if found["event"] == event:
            return found
    assert process.stderr is not None
    pytest.fail(f"no {event}: {process.stderr.read()}")


@pytest.fixture
def echo() -> Iterator[int]:
    """Starts an echo server; yields its port."""

    def serve(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)

    def meet() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=meet, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def converse(address: str, content: bytes) -> None:
    """Sends content to an echo server and checks that the same content returns."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=60) as connection:

        def write() -> None:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)

        writing = threading.Thread(target=write)
        writing.start()
        heard = b"".join(iter(lambda: connection.recv(65536), b""))
        writing.join()
    assert heard == content


@pytest.mark.parametrize("scheduler", ["round-robin:segments=3", "own.py:Turns"])
def test_connections_cross_both_paths(scheduler: str, echo: int, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    content = hashlib.shake_128(b"plait").digest(500_000)
    serve = ("--serve", "--listen", "127.0.0.1:0", "--allow", f"127.0.0.1:{echo}", "--json")
    with running(*serve, folder=tmp_path) as far:
        listening = line(far, "listening")
        to = [listening["address"], "--fingerprint", listening["fingerprint"], "--json"]
        paths = ["--local", "127.0.0.2", "--local", "127.0.0.3", "--scheduler", scheduler]
        forward = ["--forward", f"127.0.0.1:0=127.0.0.1:{echo}"]
        with running(*to, *paths, *forward, folder=tmp_path) as near:
            entrance = line(near, "listening")
            assert (entrance["socks"], entrance["paths"]) == (None, ["127.0.0.2", "127.0.0.3"])
            converse(entrance["forwards"][0]["listen"], content)
            assert line(far, "came")["event"] == "came"
            assert line(far, "connected")["target"] == f"127.0.0.1:{echo}"
            status = line(near, "progress")
            while status["received_bytes"] < len(content):
                status = line(near, "progress")
            assert status["sent_bytes"] == len(content)
            assert all(path["bytes"] > 0 for path in status["paths"]), status
        assert line(far, "left")["event"] == "left"
    assert (tmp_path / "asked").exists() == scheduler.endswith("Turns")
    assert (near.returncode, far.returncode) == (130, 130)


def test_what_each_end_sends_is_recorded(echo: int, tmp_path: Path, command: Command) -> None:
    content = hashlib.shake_128(b"plait").digest(500_000)
    serve = (
        "--serve",
        "--listen",
        "127.0.0.1:0",
        "--allow",
        f"127.0.0.1:{echo}",
        "--json",
        "--record",
        "far",
    )
    with running(*serve, folder=tmp_path) as far:
        listening = line(far, "listening")
        to = [listening["address"], "--fingerprint", listening["fingerprint"], "--json", "--record", "near"]
        paths = ["--local", "127.0.0.2", "--local", "127.0.0.3", "--scheduler", "round-robin:segments=3"]
        forward = ["--forward", f"127.0.0.1:0=127.0.0.1:{echo}", "--redundant-port", str(echo)]
        with running(*to, *paths, *forward, folder=tmp_path) as near:
            converse(line(near, "listening")["forwards"][0]["listen"], content)
        assert line(far, "left")["event"] == "left"
    for end, names in (("near", ["127.0.0.2", "127.0.0.3"]), ("far", ["path1", "path2"])):
        (result,) = read_results(tmp_path / end)
        assert (result.data["engine"], result.scenario, result.path_names) == ("sockets", "streams", names)
        assert result.data["recording"]["file_bytes"] is None
        assert result.metrics["delivered_bytes"] > len(content)
        copies = result.packets.group_by("sequence").len().filter(pl.col("len") > 1)
        # Acknowledgements arrive early on loopback.
        # Most copies are unnecessary before there is room to send them.
        assert len(copies) > 20, "connections to that port are on every path, there and back"
        assert "proxy" in " ".join(result.warnings)
        done = command("explain", str(tmp_path / end), "--at", "0s")
        assert (done.returncode, "segment" in done.stdout) == (0, True), done.stderr
        done = command("report", str(tmp_path / end), "-o", str(tmp_path / f"{end}.html"))
        assert (done.returncode, (tmp_path / f"{end}.html").exists()) == (0, True), done.stderr
        qlog.write(result, tmp_path / f"{end}.sqlog")
        # The header and the decisions; their number depends on the queued data at each decision.
        assert (tmp_path / f"{end}.sqlog").read_text().count("\x1e") > 1
        done = command("replay", str(tmp_path / end), "--scenario", str(tmp_path / f"{end}.toml"))
        assert (done.returncode, (tmp_path / f"{end}.toml").exists()) == (2, True)
        assert "cannot be run again" in done.stderr


def test_socks_says_what_is_not_allowed(tmp_path: Path) -> None:
    with running("--serve", "--listen", "127.0.0.1:0", folder=tmp_path) as far:
        assert far.stdout is not None
        assert far.stderr is not None
        told = far.stdout.readline().split()
        assert (told[:2], told[-2:]) == (["plait", "proxy"], ["--secret-file", "FILE"])
        assert "no connection is allowed" in far.stderr.readline()
        with running(*told[2:-2], "--socks", "127.0.0.1:0", folder=tmp_path) as near:
            assert near.stdout is not None
            host, port = near.stdout.readline().removeprefix("SOCKS5 at ").rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=60) as client:
                client.sendall(bytes([5, 1, 0]) + bytes([5, 1, 0, 1, 127, 0, 0, 1, 0, 9]))
                answer = b"".join(iter(lambda: client.recv(64), b""))
            assert answer[:4] == bytes([5, 0, 5, 2])


def test_a_scheduler_that_fails_ends_the_near_end(echo: int, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    serve = ("--serve", "--listen", "127.0.0.1:0", "--allow", "*:*", "--json")
    with running(*serve, folder=tmp_path) as far:
        listening = line(far, "listening")
        to = [listening["address"], "--fingerprint", listening["fingerprint"], "--json"]
        forward = ["--forward", f"127.0.0.1:0=127.0.0.1:{echo}"]
        with running(*to, *forward, "--scheduler", "own.py:Fails", folder=tmp_path) as near:
            host, port = line(near, "listening")["forwards"][0]["listen"].rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=60) as client:
                client.sendall(b"a")
                _, errors = near.communicate(timeout=60)
            assert near.returncode == 1
            assert "no more" in errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "HOST:PORT and --fingerprint are needed, or --serve"),
        (["host:1", "--fingerprint", "0" * 64], "the same as at the listening end"),
        (["host:1", "--allow", "*:*"], "not provided: --fingerprint <HEX> --serve"),
        (["--serve", "--socks", "127.0.0.1:0"], "'--serve' cannot be used with '--socks"),
        (["--serve", "--redundant-port", "22"], "'--serve' cannot be used with '--redundant-port"),
        (
            [
                *["host:1", "--secret", "x", "--record", "here", "--scheduler", "auto", "--fingerprint"],
                "0" * 64,
            ],
            "name one",
        ),
        (["--serve", "host:1"], "'--serve' cannot be used with '[HOST:PORT]'"),
        (["--serve", "--allow", "all", "--listen", "127.0.0.1:0"], '"all": HOST:PORT is needed'),
        (
            ["127.0.0.1:1", "--fingerprint", "0" * 64, "--secret", "x", "--forward", "80"],
            "ADDR:PORT=HOST:PORT",
        ),
        (
            ["127.0.0.1:1", "--fingerprint", "0" * 64, "--secret", "x", "--socks", "here"],
            "'here' for '--socks",
        ),
    ],
)
def test_what_cannot_be_says_why(
    arguments: list[str], words: str, process: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLAIT_SECRET", raising=False)
    ended = process("proxy", *arguments)
    assert ended.returncode != 0
    assert words in ended.stderr.replace("\n", " "), ended.stderr
