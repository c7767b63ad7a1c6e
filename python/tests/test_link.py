"""`plait link`: programs on the links of a scenario.

Rust tests check the effect of links on packets, in virtual time.
"""

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plait._core import LinkSockets, ScenarioError, link_plan

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="links for programs need Linux")

SCENARIO = """
[[path]]
name = "dsl"
rate = "100Mbit"
rtt = "2ms"
[[path]]
name = "lte"
rate = "50Mbit"
rtt = "4ms"
"""
LOSSY = '[[path]]\nrate = "100Mbit"\nrtt = "2ms"\nqueue = "infinite"\nforward = { loss = "100%" }\n'
ECHO = """
import socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("", 9000))
while True:
    data, sender = here.recvfrom(2000)
    here.sendto(data + b" from " + sender[0].encode(), sender)
"""
ASK = """
import os, socket, time
for index in range(int(os.environ["PLAIT_PATHS"])):
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind((os.environ[f"PLAIT_ADDRESS_{index}"], 0))
    here.connect((os.environ["PLAIT_PEER"], int(os.environ.get("PLAIT_PORT", "9000"))))
    here.settimeout(20)
    begin = time.monotonic()
    here.send(b"hello")
    print(here.recv(2000).decode(), time.monotonic() - begin)
"""

SEND = """
import os, socket, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5):
    here.sendto(b"x", (os.environ["PLAIT_PEER"], 9))
time.sleep(0.3)
"""


def link(*words: str | Path, prefix: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    command = [*prefix, sys.executable, "-m", "plait", "link", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "links.toml"
    file.write_text(SCENARIO)
    return file


def forbidden() -> str:
    """Returns the reason why this system forbids namespaces; empty if it allows them."""
    probe = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    try:
        done = subprocess.run([*probe, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no program unshare"
    if done.returncode:
        return done.stderr.strip()
    return "" if os.access("/dev/net/tun", os.R_OK | os.W_OK) else "/dev/net/tun is not for this user"


spaces = pytest.mark.skipif(bool(forbidden()), reason=f"needs namespaces: {forbidden()}")


@spaces
def test_each_address_leaves_over_its_path(scenario: Path) -> None:
    server = f"exec {sys.executable} -c '{ECHO}'"
    done = link(scenario, "--server", server, "--summary", "--", sys.executable, "-c", ASK)
    assert done.returncode == 0, done.stderr
    answers = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    assert [words for words, _ in answers] == ["hello from 10.77.0.1", "hello from 10.77.1.1"]
    # No answer is faster than the round trip of its path. Further delay depends on the machine.
    assert [float(seconds) >= rtt for (_, seconds), rtt in zip(answers, (0.002, 0.004), strict=True)] == [
        True,
        True,
    ]
    for name in ("dsl", "lte"):
        assert f"{name} forward: 1 packets, 1 arrived (33 bytes)" in done.stderr
    assert "dsl: 10.77.0.1 to 10.77.0.2" in done.stderr
    assert "over any path: 10.77.255.1" in done.stderr


@spaces
@pytest.mark.skipif(shutil.which("ip") is None, reason="needs the program ip")
def test_a_link_that_comes_up_again_has_its_routes(scenario: Path) -> None:
    """Linux removes the routes of an interface that goes down; `plait link` adds them again."""
    routes = "ip route show 10.77.255.1 dev lte; ip route show table 101"
    again = "for _ in $(seq 100); do ip route show table 101 | grep -q . && break; sleep 0.05; done"
    line = f"{routes}; ip link set lte down; {routes}; ip link set lte up; {again}; {routes}"
    done = link(scenario, "--", line)
    expected = ["scope link src 10.77.1.1 metric 2", "default dev lte scope link src 10.77.1.1 metric 1"]
    found = [" ".join(one.split()) for one in done.stdout.splitlines()]
    # Once before and once after; the answer between is empty.
    assert [one.replace("proto static ", "") for one in found] == 2 * [
        f"10.77.255.1 {expected[0]}",
        expected[1],
    ], done.stderr


@spaces
def test_the_command_has_its_interfaces_and_nothing_else(scenario: Path) -> None:
    done = link(
        scenario,
        "--",
        sys.executable,
        "-c",
        "import socket; print([one for _, one in socket.if_nameindex()])",
    )
    assert done.stdout.strip() == "['lo', 'dsl', 'lte']"


@spaces
@pytest.mark.parametrize(("line", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("true ''", 0)])
def test_the_status_is_the_commands(scenario: Path, line: str, status: int) -> None:
    assert link(scenario, "--", line).returncode == status


@spaces
def test_losses_are_the_scenarios(tmp_path: Path) -> None:
    file = tmp_path / "lossy.toml"
    file.write_text(LOSSY)
    done = link(file, "--summary", "--", sys.executable, "-c", SEND)
    assert "path1 forward: 5 packets, 0 arrived (0 bytes), 5 lost" in done.stderr


@spaces
def test_a_server_that_ends_or_does_not_listen_is_said(scenario: Path) -> None:
    ended = link(scenario, "--server", "exit 4", "--", "true")
    assert (ended.returncode, 'the server "exit 4" ended before it listened' in ended.stderr) == (1, True)
    silent = link(scenario, "--server", "sleep 50", "--wait", "100ms", "--", "true")
    assert (silent.returncode, "does not listen after 0.1 s (--wait)" in silent.stderr) == (1, True)


@spaces
def test_a_request_to_end_reaches_the_command_and_the_server_ends_too(scenario: Path, tmp_path: Path) -> None:
    note = tmp_path / "server"
    server = f"echo $$ > {note}; exec {sys.executable} -m http.server 9000"
    command = [sys.executable, "-m", "plait", "link", str(scenario), "--server", server, "--", "sleep", "50"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 20
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(children.read_text().split()) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{note.read_text().strip()}").exists()


@spaces
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to be somebody else"
)
def test_somebody_who_is_not_root(scenario: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    prefix = ("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
    probe = [*prefix, sys.executable, "-c", f"import plait; open({str(scenario)!r})"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("nobody may not read this checkout or its temporary files")
    done = link(scenario, "--", "cat /proc/net/dev", prefix=prefix)
    if "the system forbids" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert (done.returncode, "lte:" in done.stdout) == (0, True), done.stderr


@spaces
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs the program unshare")
def test_where_user_namespaces_are_forbidden_it_says_who_can_allow_them(scenario: Path) -> None:
    """The command runs without root in a user namespace that allows no further namespaces."""
    words = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {sys.executable} -m plait link {scenario} -- true"
    outer = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "sh", "-c", words]
    done = subprocess.run(outer, capture_output=True, text=True, timeout=60, check=False)
    if "max_user_namespaces" in done.stderr and "plait:" not in done.stderr:
        pytest.skip(f"the limit cannot be set here: {done.stderr.strip()}")
    assert done.returncode == 1
    assert "plait: the system forbids user namespaces" in done.stderr
    assert "or use --udp" in done.stderr


def test_the_relay_on_loopback(scenario: Path) -> None:
    """Without namespaces: the test echoes, and a client selects each path by its address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as target:
        target.bind(("127.0.0.1", 0))
        target.settimeout(20)
        words = [str(scenario), "--udp", f"127.0.0.1:{target.getsockname()[1]}", "--summary"]
        command = [sys.executable, "-m", "plait", "link", *words, "--", sys.executable, "-c", ASK]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for _ in range(2):
                data, sender = target.recvfrom(100)
                target.sendto(data, sender)
            out, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert [line.split()[0] for line in out.splitlines()] == ["hello", "hello"]
    for name in ("dsl", "lte"):
        assert f"{name} forward: 1 packets, 1 arrived (33 bytes)" in errors
        assert f"{name} backward: 1 packets, 1 arrived (33 bytes)" in errors


def test_slips_are_said(scenario: Path, tmp_path: Path) -> None:
    missing = link(tmp_path / "none.toml", "--", "true")
    assert (missing.returncode, "none.toml" in missing.stderr) == (2, True)
    target = link(scenario, "--udp", "localhost", "--", "true")
    assert (target.returncode, "expected ADDRESS:PORT such as 127.0.0.1:4433" in target.stderr) == (2, True)
    both = link(scenario, "--udp", "127.0.0.1:1", "--mptcp", "--", "true")
    assert (both.returncode, "--udp and --mptcp exclude each other" in both.stderr) == (2, True)
    port = link(scenario, "--port", "1", "--", "true")
    assert (port.returncode, "--port needs --udp" in port.stderr) == (2, True)
    unknown = link(scenario, "--udp", "127.0.0.1:1", "--", "no-such-program")
    assert (unknown.returncode, "no-such-program: No such file" in unknown.stderr) == (2, True)


def test_the_plan_names_interfaces_after_paths(scenario: Path) -> None:
    plan = json.loads(link_plan(str(scenario)))
    assert [end["interface"] for end in plan["ends"]] == ["dsl", "lte"]
    scenario.write_text(SCENARIO.replace("lte", "a name that no interface has"))
    plan = json.loads(link_plan(str(scenario)))
    assert [end["interface"] for end in plan["ends"]] == ["p0", "p1"]
    with pytest.raises(ScenarioError, match="target"):
        LinkSockets(str(scenario), "nowhere", port=0, seed=None)


@spaces
def test_the_commands_of_the_readme_send_a_file(scenario: Path, tmp_path: Path) -> None:
    """The receiver prints a command; typed at the near end with the file, it sends over both links."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    block = readme.partition("\nplait link my-links.toml --server '")[2]
    server, typed = block.partition("'\n")[0], readme.partition("\nplait send ")[2].partition("\n")[0]
    assert typed.startswith("video.mkv $PLAIT_PEER:4433 --fingerprint HEX --secret TEXT")
    (tmp_path / "video.mkv").write_bytes(os.urandom(3_000_000))
    line = f"""
        until grep -q fingerprint said; do sleep 0.1; done
        set -- $(grep -o -- '--fingerprint.*' said)
        plait send {typed.replace("HEX", "$2").replace("TEXT", "$4")}
    """
    folder = Path(sys.executable).parent
    done = subprocess.run(
        ["plait", "link", str(scenario), "--server", f"{server} > said", "--", line],
        cwd=tmp_path, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "inbox/video.mkv").read_bytes() == (tmp_path / "video.mkv").read_bytes()
    assert "%dsl" in done.stdout
    assert "%lte" in done.stdout
