"""Files over real sockets on loopback, from Python and by the command, without timing."""

import asyncio
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import plait
import plait.transfers.sender
from plait import Assign, Receiver, Scheduler, TransferError, Wait
from plait.results.recorded import read_results
from plait.transfers.report import change_of

LOCALS = ["127.0.0.2", "127.0.0.3"]


class Counts(Scheduler):
    """Takes the open paths in turn and counts its decisions."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.turn = 0

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Assign | Wait:
        """See `Scheduler.decide`."""
        self.names |= {path.name for path in paths}
        self.turn += 1
        for path in [*paths[self.turn % len(paths) :], *paths]:
            if path.open:
                return Assign(path.index)
        return Wait()


class Fails(Counts):
    """Raises an exception after 1000 decisions.

    By then at least a third of the file has been sent, and most of that is acknowledged.
    """

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Assign | Wait:
        """See `Scheduler.decide`."""
        if self.turn > 1000:
            message = "no more"
            raise ValueError(message)
        return super().decide(now, connection, paths)


@pytest.fixture
def content(tmp_path: Path) -> Path:
    file = tmp_path / "a file.bin"
    file.write_bytes(hashlib.shake_128(b"plait").digest(3_000_000))
    return file


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with plait.receive(tmp_path / "inbox", listen="127.0.0.1:0") as receiver:
        yield receiver


def told(receiver: Receiver) -> dict[str, Any]:
    """Returns the arguments that a sender needs to reach the receiver."""
    return {"to": receiver.address, "fingerprint": receiver.fingerprint, "secret": receiver.secret}


@pytest.mark.parametrize("scheduler", ["round-robin:segments=3", {"name": "redundant"}, Counts()])
def test_a_file_arrives_whole(
    content: Path, receiver: Receiver, scheduler: plait.scenarios.scheduler.Choice
) -> None:
    sent = plait.send(content, **told(receiver), local=LOCALS, scheduler=scheduler)
    received = receiver.wait(60)
    assert received.path is not None
    assert received.path.read_bytes() == content.read_bytes()
    assert received.sha256 == sent.sha256 == hashlib.sha256(content.read_bytes()).hexdigest()
    assert [path.name for path in sent.paths] == LOCALS
    assert all(path.bytes > 0 for path in sent.paths)
    if isinstance(scheduler, Counts):
        assert scheduler.names == set(LOCALS)
        assert scheduler.turn > sent.bytes / plait.transfers.sender.MTU
    if isinstance(scheduler, dict):
        assert sum(path.bytes for path in sent.paths) > sent.bytes, "there are copies"


@pytest.mark.parametrize("scheduler", ["round-robin", Counts(), None])
def test_multipath_of_quics_own(
    content: Path, receiver: Receiver, scheduler: plait.scenarios.scheduler.Choice | None
) -> None:
    sent = plait.send(content, **told(receiver), local=LOCALS, scheduler=scheduler, interop=True)
    received = receiver.wait(60)
    assert received.path is not None
    assert received.path.read_bytes() == content.read_bytes()
    # On loopback the file may arrive before the second path opens.
    # Tests in virtual time check the data on each path.
    assert sum(path.bytes for path in sent.paths) > 0.9 * sent.bytes
    with pytest.raises(plait.ScenarioError, match=r'"reinject".*lowest-rtt'):
        plait.send(content, **told(receiver), scheduler="redundant", interop=True)


def test_a_scheduler_of_ones_own_in_a_file(content: Path, receiver: Receiver, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import plait\n\n\nclass Last(plait.Scheduler):\n    def decide(self, now, connection, paths):\n"
        "        return plait.Assign(paths[-1].index) if paths[-1].open else plait.Wait()\n"
    )
    sent = plait.send(content, **told(receiver), local=LOCALS, scheduler=f"{mine}:Last")
    assert sent.paths[1].bytes >= sent.bytes
    assert sent.paths[0].bytes == 0


def test_a_scheduler_that_is_found_out(content: Path, receiver: Receiver) -> None:
    """Over loopback the transfer ends too early to learn much about the paths.

    Tests in virtual time check the choice of the scheduler.
    """
    told_of: list[plait.TransferProgress] = []
    sent = plait.send(content, **told(receiver), local=LOCALS, scheduler="auto", progress=told_of.append)
    assert receiver.wait(60).sha256 == sent.sha256
    heard = tuple(change for progress in told_of for change in progress.changes)
    assert heard == sent.changes[: len(heard)]
    with pytest.raises(plait.ScenarioError, match="unknown scheduler"):
        plait.send(content, **told(receiver), local=LOCALS, scheduler="automatic")


def test_what_is_told_of_a_change() -> None:
    path = {
        "name": "127.0.0.2",
        "rate_bps": 6.1e6,
        "busy": True,
        "rtt_s": 0.06,
        "srtt_s": 0.09,
        "loss": 0.003,
        "queue_s": 0.2,
        "overflowed": True,
        "packets": 900,
    }
    data = {
        "event": "scheduler",
        "seconds": 3.1,
        "before": "lowest-rtt",
        "after": "blest",
        "gain_percent": 12.0,
        "gain_low_percent": 9.0,
        "gain_high_percent": 15.0,
        "seeds": 5,
        "paths": [path],
        "reason": "lowest-rtt → blest after 3.1 s: …",
    }
    change = change_of(data)
    assert (change.before, change.after, change.paths[0].rtt_s) == ("lowest-rtt", "blest", 0.06)


def test_what_a_scheduler_raises_passes_through(content: Path, receiver: Receiver) -> None:
    with pytest.raises(ValueError, match="no more"):
        plait.send(content, **told(receiver), local=LOCALS, scheduler=Fails())
    assert "gave up" in str(receiver.wait(60).error)


def test_an_interrupted_transfer_goes_on_from_what_is_there(content: Path, receiver: Receiver) -> None:
    with pytest.raises(ValueError, match="no more"):
        plait.send(content, **told(receiver), local=LOCALS, scheduler=Fails())
    failed = receiver.wait(60)
    assert (failed.path, failed.kept_bytes > 100_000) == (None, True)
    sent = plait.send(content, **told(receiver), local=LOCALS[:1])
    received = receiver.wait(60)
    assert sent.resumed_bytes == received.resumed_bytes == failed.kept_bytes
    assert sent.paths[0].bytes < sent.bytes, "what was there is not sent again"
    assert received.path is not None
    assert received.path.read_bytes() == content.read_bytes()
    assert [file.name for file in received.path.parent.iterdir()] == [content.name]


def test_a_part_of_another_file_of_the_name_is_not_used(
    content: Path, receiver: Receiver, tmp_path: Path
) -> None:
    name = hashlib.sha256(content.name.encode()).hexdigest()[:32]
    left = tmp_path / "inbox" / f".plait-{name}.part"
    left.write_bytes(b"not of this file")
    assert plait.send(content, **told(receiver)).resumed_bytes == 0
    received = receiver.wait(60)
    assert received.path is not None
    assert received.path.read_bytes() == content.read_bytes()
    assert not left.exists()


def test_a_folder_arrives_with_times_and_is_not_carried_again(receiver: Receiver, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    (folder / "empty").mkdir(parents=True)
    for number in range(50):
        (folder / f"{number}").write_bytes(bytes([number]) * 1000)
    os.utime(folder / "7", ns=(0, 1_000_000_000_123_456_789))
    (folder / "link").symlink_to("/etc")
    for resumed in (0, 50_000):
        sent = plait.send(folder, **told(receiver))
        assert (sent.files, sent.bytes, sent.resumed_bytes, sent.sha256) == (50, 50_000, resumed, None)
        assert sent.skipped == ("photos/link: a symbolic link",)
        received = receiver.wait(60)
        assert received.path == tmp_path / "inbox" / "photos"
        assert received.files == 50
    there = tmp_path / "inbox" / "photos"
    assert {place.name for place in there.iterdir()} == {place.name for place in folder.iterdir()} - {"link"}
    assert (there / "7").stat().st_mtime_ns == 1_000_000_000_123_456_789


def test_a_budget_is_kept_and_what_is_beyond_all_of_them_is_not_sent(
    content: Path, receiver: Receiver
) -> None:
    sent = plait.send(
        content, **told(receiver), local=LOCALS, budget={LOCALS[0]: "200kB"}, scheduler="redundant"
    )
    # Packets are not cut, so one packet may exceed the budget.
    assert sent.paths[0].bytes < 200_000 + plait.transfers.sender.MTU
    assert receiver.wait(60).error is None
    content.write_bytes(content.read_bytes()[1:])
    with pytest.raises(TransferError, match="another file has the name"):
        plait.send(content, **told(receiver))
    receiver.wait(60)
    other = content.rename(content.with_name("other"))
    with pytest.raises(TransferError, match="budgets"):
        plait.send(other, **told(receiver), local=LOCALS[:1], budget={LOCALS[0]: 200_000})
    assert receiver.wait(60).kept_bytes > 100_000
    again = plait.send(other, **told(receiver), local=LOCALS[:1])
    assert again.resumed_bytes > 100_000


def test_what_cannot_be_is_said(content: Path, receiver: Receiver) -> None:
    good = told(receiver)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"fingerprint": "12"}, "64 hexadecimal digits"),
        ({"local": ["wlan0"]}, 'local address wlan0: "wlan0" is no IP address'),
        ({"scheduler": "fastest"}, 'unknown scheduler "fastest"'),
        ({"congestion": "vegas"}, 'congestion "vegas": choose'),
        ({"mtu": 3}, "choose 1200 to"),
        ({"budget": {"wwan0": 5}}, "wwan0: no such path: choose 127.0.0.1"),
        ({"budget": {"127.0.0.1": "5 apples"}}, "5 apples"),
    ]
    for wrong, says in cases:
        with pytest.raises(plait.ScenarioError, match=says):
            plait.send(content, **{**good, **wrong})
    # An interface and a name may come later, so they are no errors of the input.
    with pytest.raises(TransferError, match="interface wlan99"):
        plait.send(content, **{**good, "interface": ["wlan99"]})
    with pytest.raises(TransferError, match=r"plait\.invalid:4433"):
        plait.send(content, **{**good, "to": "plait.invalid:4433"})
    with pytest.raises(TransferError, match="the secret is wrong"):
        plait.send(content, **{**good, "secret": "guessed"})
    with pytest.raises(plait.ScenarioError, match="nowhere"):
        plait.send(content.with_name("nowhere"), **good)


def test_two_at_a_time_without_holding_the_loop_up(content: Path, tmp_path: Path) -> None:
    other = content.with_name("other")
    other.write_bytes(b"")

    async def both() -> set[str]:
        async with (
            plait.receive(tmp_path / "inbox", listen="127.0.0.1:0") as receiver,
            await plait.connect(**told(receiver), local=LOCALS) as sender,
        ):
            assert sender.paths == tuple(LOCALS)
            await asyncio.gather(sender.send(content), sender.send(other, scheduler="blest"))
            found = set()
            async for received in receiver:
                assert received.error is None
                found.add(received.file)
                if len(found) == 2:
                    return found
        raise AssertionError

    assert asyncio.run(both()) == {content.name, "other"}


def test_terms_and_recordings_are_of_each_file_of_a_sender(
    content: Path, receiver: Receiver, tmp_path: Path
) -> None:
    async def send() -> plait.Sent:
        budget, cost = {LOCALS[0]: "200kB"}, {LOCALS[1]: 3}
        async with await plait.connect(**told(receiver), local=LOCALS, budget=budget, cost=cost) as sender:
            return await sender.send(content, scheduler="round-robin", record=tmp_path / "run")

    sent = asyncio.run(send())
    assert 0 < sent.paths[0].bytes < 200_000 + plait.transfers.sender.MTU
    assert receiver.wait(60).error is None
    (result,) = read_results(tmp_path / "run")
    assert result.data["recording"]["costs"] == [0, 3]
    assert sent.bytes <= result.metrics["delivered_bytes"] < sent.bytes + 10_000


def test_who_is_not_there_or_not_who_it_should_be_is_no_receiver(receiver: Receiver) -> None:
    async def ask(**wrong: str) -> None:
        await plait.connect(**{**told(receiver), **wrong})

    for wrong in ({"secret": "guessed"}, {"fingerprint": "0" * 64}):
        with pytest.raises(TransferError):
            asyncio.run(ask(**wrong))


def test_a_transfer_that_is_cancelled_is_told_to_the_receiver(content: Path, receiver: Receiver) -> None:
    async def cancel() -> None:
        async with await plait.connect(**told(receiver)) as sender:
            begun = asyncio.Event()
            loop = asyncio.get_running_loop()

            class Waits(Counts):
                def decide(
                    self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
                ) -> Assign | Wait:
                    loop.call_soon_threadsafe(begun.set)
                    return Wait()

            task = asyncio.create_task(sender.send(content, scheduler=Waits()))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancel())
    assert "gave up" in str(receiver.wait(60).error)


def test_a_receiver_that_is_closed_says_so(tmp_path: Path) -> None:
    with plait.receive(tmp_path / "inbox", listen="127.0.0.1:0") as receiver, pytest.raises(TimeoutError):
        receiver.wait(0.01)
    assert list(receiver) == []
    with pytest.raises(TransferError, match="closed"):
        receiver.wait()


OWN_NETWORK = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
"""Runs a program in its own network namespace, so that every port is free."""
BOTH = """
from pathlib import Path
import plait
with plait.receive("inbox") as receiver:
    assert receiver.port == 4433
    told = {"fingerprint": receiver.fingerprint, "secret": receiver.secret}
    for number, host in enumerate(("127.0.0.1", "[::1]")):
        Path(str(number)).write_bytes(b"over " + host.encode())
        plait.send(str(number), f"{host}:4433", **told)
        print(receiver.wait(60).path.read_text())
"""


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs the program unshare")
@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="needs IPv6")
def test_a_receiver_without_an_address_listens_on_both_families(tmp_path: Path) -> None:
    words = [*OWN_NETWORK, "sh", "-c", 'ip link set lo up && exec "$0" -c "$1"', sys.executable, BOTH]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    if done.stderr.startswith("unshare: "):
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stdout.split()) == (0, ["over", "127.0.0.1", "over", "[::1]"]), done.stderr


def test_the_command_sends_to_the_command(content: Path, process: Command, tmp_path: Path) -> None:
    environment = {**os.environ, "PLAIT_SECRET": "told"}
    arguments = ["recv", "--out", str(tmp_path / "inbox"), "--listen", "127.0.0.1:0", "--once", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "plait", *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as receiving:
        assert receiving.stdout is not None
        listening = json.loads(receiving.stdout.readline())
        assert (listening["event"], listening["secret"]) == ("listening", None), "a given secret is not shown"
        to = [listening["address"], "--fingerprint", listening["fingerprint"]]
        assert process("send", str(content), *to).stderr.startswith("plait: a secret is needed")
        refused = process("send", str(content), *to, "--secret", "x", "--redundant", "--scheduler", "ecf")
        assert (refused.returncode, "cannot be used with" in refused.stderr) == (2, True)
        locals_ = ["--local", LOCALS[0], "--local", LOCALS[1]]
        sent = process("send", str(content), *to, "--secret", "told", *locals_, "--redundant", "--json")
        assert sent.returncode == 0, sent.stderr
        result = json.loads(sent.stdout.splitlines()[-1])
        received = json.loads(receiving.stdout.read().splitlines()[-1])
        assert (received["event"], received["sha256"]) == ("received", result["sha256"])
        assert [path["name"] for path in result["paths"]] == LOCALS
        assert receiving.wait(60) == 0
    assert (tmp_path / "inbox" / content.name).read_bytes() == content.read_bytes()


def test_ctrl_c_ends_the_receiver(tmp_path: Path) -> None:
    arguments = ["recv", "--out", str(tmp_path), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-m", "plait", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as receiving:
        assert receiving.stdout is not None
        assert receiving.stdout.readline().startswith("plait send FILE 127.0.0.1:")
        receiving.send_signal(signal.SIGINT)
        _, errors = receiving.communicate(timeout=60)
        assert (receiving.returncode, errors.split(" ", 1)[1]) == (130, "plait: interrupted\n")
