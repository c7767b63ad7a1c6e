"""`plait-quic` over the links of `plait link`: goodput, failing links, a soak, and MPTCP.

``python benches/links/transfers.py WHAT [--program target/release/plait-quic] …``, as any user with
the right to create namespaces:

- *goodput*: a file with each scheduler over DSL and LTE (a recording with ``--trace``, otherwise
  one made here). Compares the goodput with the capacity of both links in that time.
- *pull*: transfers during which one link fails permanently at a random moment, the first and the
  second link in turns. It fails ``silent`` (without notice) or ``down`` (the interface is set
  down).
- *failures*: many small transfers over lossy links that fail repeatedly at random, silently and by
  interfaces that are set down. SHA-256 of both files is computed here.
- *soak*: one file after the other for ``--minutes`` over such links, with the memory of both ends.
- *beside*: the same links under plain TCP over the best one and under the kernel's MPTCP, both by
  iperf3.

Random moments depend on ``--seed``. Every line of the output is JSON with the parameters and the
results. The last one is a summary.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from near import Near, over_links, say

OPPORTUNITY = 1500 * 8
"""Bits of IP packets that one delivery opportunity of a trace carries."""
NAMES = ("dsl", "lte")
DSL = '[[path]]\nname = "dsl"\nrate = "16Mbit"\nrtt = "25ms"\nqueue = "100ms"\n'
STEADY = """[[path]]
name = "dsl"
rate = "40Mbit"
rtt = "25ms"
queue = "100ms"
{dsl}
[[path]]
name = "lte"
rate = "20Mbit"
rtt = "60ms"
queue = "300ms"
{lte}
"""


def made_trace(seed: int, seconds: int = 140, mean: float = 5e6) -> list[int]:
    """Make a trace like those of LTE, in milliseconds: a wandering rate with occasional outages."""
    chance, moments, level, credit = random.Random(seed), [], mean, 0.0
    dark = 0
    for millisecond in range(seconds * 1000):
        if millisecond % 100 == 0:
            level = min(max(level * chance.lognormvariate(0, 0.25), mean / 4), mean * 2.5)
            dark = millisecond + chance.randrange(200, 1200) if chance.random() < 0.01 else dark
        if millisecond >= dark:
            credit += level / 1000 / OPPORTUNITY
        while credit >= 1:
            moments.append(millisecond)
            credit -= 1
    return [*moments, seconds * 1000]


def carried(trace: list[int], begin: float, end: float) -> float:
    """Return the bits that a repeating trace carries between two times in seconds."""

    def until(moment: float) -> int:
        rounds, rest = divmod(moment * 1000, trace[-1])
        return int(rounds) * len(trace) + bisect.bisect_right(trace, rest)

    return (until(end) - until(begin)) * OPPORTUNITY


def outages(
    chance: random.Random, seconds: float, working: tuple[float, float], dark: tuple[float, float]
) -> str:
    """Draw the outages of a path as scenario text; times in seconds."""
    moment, cuts = chance.uniform(*working), []
    while moment < seconds:
        end = moment + chance.uniform(*dark)
        cuts.append(f'{{ from = "{moment:.3f}s", to = "{end:.3f}s" }}')
        moment = end + chance.uniform(*working)
    return f"outages = [{', '.join(cuts)}]"


def set_link(name: str, up: bool) -> None:
    """Set an interface down, or up again with the route that `plait link` gave it."""
    index = NAMES.index(name)
    subprocess.run(["ip", "link", "set", name, "up" if up else "down"], check=True)
    if up:
        source = os.environ[f"PLAIT_ADDRESS_{index}"]
        for words in (
            f"route replace 10.77.255.1 dev {name} src {source} metric {index + 1}",
            f"route replace default dev {name} src {source} metric 1 table {100 + index}",
        ):
            subprocess.run(["ip", *words.split()], check=True)


def near_goodput(near: Near) -> None:
    task = near.task
    for scheduler in task["schedulers"]:
        came = near.transfer(task["megabytes"], "--scheduler", scheduler)
        if "error" not in came:
            end = came["begin"] + came["seconds"]
            capacity = (16e6 * came["seconds"] + carried(task["trace"], came["begin"], end)) / came["seconds"]
            came |= {"capacity": capacity, "share": came["goodput"] / capacity}
        say(scheduler=scheduler, mtu=task["mtu"], megabytes=task["megabytes"], **came)


def near_pull(near: Near) -> None:
    """Run a transfer while an interface is set down. Silent failures are in the scenario."""
    task = near.task
    if task["down"] is not None:
        name, moment = task["down"]
        timer = threading.Timer(moment, set_link, [name, False])
        timer.daemon = True
        timer.start()
    say(**task["label"], **near.transfer(task["megabytes"], "--scheduler", task["scheduler"]))


def flap(stop: threading.Event, seed: int) -> None:
    """Set interfaces down and up again, one at a time."""
    chance = random.Random(seed)
    while not stop.wait(chance.uniform(0.5, 3)):
        name = chance.choice(NAMES)
        set_link(name, False)
        stop.wait(chance.uniform(0.1, 1.5))
        set_link(name, True)


def memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sample(stop: threading.Event, receiver: int) -> None:
    """Print the resident bytes of both ends every five seconds while there is a sender."""
    begun = time.monotonic()
    while not stop.wait(5):
        for child in (
            Path(f"/proc/self/task/{threading.main_thread().native_id}/children").read_text().split()
        ):
            if b"send" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                say(at=time.monotonic() - begun, sender=memory(int(child)), receiver=memory(receiver))


def near_failures(near: Near) -> None:
    """Run the requested number of transfers while links fail."""
    task, stop = near.task, threading.Event()
    chance = random.Random(task["seed"])
    flapping = threading.Thread(target=flap, args=(stop, task["seed"]), daemon=True)
    flapping.start()
    receiver = int((near.folder / "recv.pid").read_text())
    for number in range(task["transfers"]):
        scheduler, size = chance.choice(task["schedulers"]), chance.choice(task["megabytes"])
        came = near.transfer(size, "--scheduler", scheduler)
        say(number=number, scheduler=scheduler, megabytes=size, resident=memory(receiver), **came)
    stop.set()
    flapping.join()
    say(late=near.late())


def near_soak(near: Near) -> None:
    """Send files while links fail until the time is over, and sample the memory of both ends."""
    task, stop = near.task, threading.Event()
    receiver = int((near.folder / "recv.pid").read_text())
    threads = [
        threading.Thread(target=flap, args=(stop, task["seed"]), daemon=True),
        threading.Thread(target=sample, args=(stop, receiver), daemon=True),
    ]
    for thread in threads:
        thread.start()
    while time.monotonic() - near.begun < task["seconds"]:
        say(**near.transfer(task["megabytes"], "--scheduler", task["scheduler"]))
    stop.set()
    say(late=near.late())


def near_beside(near: Near) -> None:
    """Send as many bytes with iperf3."""
    task = near.task
    words = ["iperf3", "-c", os.environ["PLAIT_PEER"], "-J", "-n", str(int(task["megabytes"] * 1e6))]
    words = ["mptcpize", "run", *words] if task["mptcp"] else [*words, "-B", os.environ["PLAIT_ADDRESS_0"]]
    begin = time.monotonic() - near.begun
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    received = json.loads(done.stdout)["end"]["sum_received"]
    say(begin=begin, seconds=received["seconds"], goodput=received["bits_per_second"])


def lines(options: argparse.Namespace, folder: Path) -> tuple[str, list[int]]:
    """Return the scenario of DSL and LTE, and LTE's trace."""
    place = folder / "lte.trace"
    if options.trace is None:
        place.write_text("".join(f"{moment}\n" for moment in made_trace(options.seed)))
    else:
        place.write_bytes(options.trace.read_bytes())
    lte = f'[[path]]\nname = "lte"\ntrace = "{place}"\nrate = "10Mbit"\nrtt = "60ms"\nqueue = "300ms"\n'
    return DSL + lte, [int(line) for line in place.read_text().split()]


def goodput(options: argparse.Namespace, folder: Path) -> None:
    scenario, trace = lines(options, folder)
    came = []
    for mtu in options.mtu:
        task = {"near": "goodput", "schedulers": options.schedulers, "megabytes": options.megabytes}
        came += over_links(scenario, {**common(options), **task, "mtu": mtu, "trace": trace}, folder)
    best = max(came, key=lambda one: one.get("share", 0))
    say(
        best=best["scheduler"],
        mtu=best["mtu"],
        share=best["share"],
        all_same=all(one["same"] for one in came),
    )


def pull(options: argparse.Namespace, folder: Path) -> None:
    """Make a link fail permanently in the middle of each transfer, in all ways in turns."""
    chance, came = random.Random(options.seed), []
    for number in range(options.transfers):
        name, kind = NAMES[number % 2], ("silent", "down")[number // 2 % 2]
        scheduler = options.schedulers[number % len(options.schedulers)]
        moment = chance.uniform(0.5, 2.5)
        cut = dict.fromkeys(NAMES, "")
        if kind == "silent":
            cut[name] = f'outages = [{{ from = "{moment:.3f}s", to = "9999s" }}]'
        task = {"near": "pull", "down": [name, moment] if kind == "down" else None, "scheduler": scheduler}
        label = {"link": name, "kind": kind, "moment": moment, "scheduler": scheduler}
        megabytes = options.megabytes
        task |= {"label": label, "megabytes": megabytes, "mtu": options.mtu[0]}
        own = folder / str(number)
        own.mkdir()
        came += over_links(STEADY.format(**cut), {**common(options), **task}, own)
    for name in NAMES:
        for kind in ("silent", "down"):
            gaps = [one.get("gap", 99) for one in came if one["link"] == name and one["kind"] == kind]
            if gaps:
                say(link=name, kind=kind, **spread(gaps))
    say(
        transfers=len(came),
        all_same=all(one["same"] for one in came),
        **spread([one.get("gap", 99) for one in came]),
    )


def spread(values: list[float]) -> dict[str, float]:
    """Return median, 95th percentile and worst value."""
    ordered = sorted(values)
    late = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return {"count": len(ordered), "median": statistics.median(ordered), "p95": late, "worst": ordered[-1]}


def cuts(options: argparse.Namespace, seconds: float) -> str:
    """Return the scenario of links that fail repeatedly and independently."""
    chance = random.Random(options.seed)
    return STEADY.format(
        **{
            name: f'loss = "{loss}"\n' + outages(chance, seconds, (1.0, 6.0), (0.1, 1.5))
            for name, loss in zip(NAMES, ("0.1%", "0.3%"), strict=True)
        }
    )


def failures(options: argparse.Namespace, folder: Path) -> None:
    begun = time.monotonic()
    task = {"near": "failures", "transfers": options.transfers, "schedulers": options.schedulers}
    task |= {"megabytes": [0.001, 0.1, 1, 4], "mtu": options.mtu[0]}
    came = over_links(cuts(options, 7200), {**common(options), **task}, folder)
    late = came.pop()["late"]
    for one in came:
        if not one["same"]:
            say(failed=one)
    gaps = [one["gap"] for one in came if "gap" in one]
    resident = [one["resident"] / 1e6 for one in came]
    say(
        transfers=len(came),
        not_same=sum(not one["same"] for one in came),
        late=len(late),
        late_and_failed=sum(event != "received" for event in late),
        minutes=(time.monotonic() - begun) / 60,
        megabytes_of_receiver={
            "first": resident[0],
            "half": resident[len(resident) // 2],
            "last": resident[-1],
        },
        gap=spread(gaps),
    )


def soak(options: argparse.Namespace, folder: Path) -> None:
    task = {"near": "soak", "scheduler": options.schedulers[0], "mtu": options.mtu[0]}
    # About four files, at the 10 Mbit/s that these links provide.
    task |= {"seconds": options.minutes * 60, "megabytes": options.minutes * 60 * 10 / 8 / 4}
    *came, last = over_links(cuts(options, 2 * options.minutes * 60), {**common(options), **task}, folder)
    kept, files = [one for one in came if "at" in one], [one for one in came if "same" in one]
    third = len(kept) // 3
    for end in ("sender", "receiver"):
        thirds = [kept[:third], kept[third : 2 * third], kept[2 * third :]]
        medians = [round(statistics.median(one[end] for one in part) / 1e6, 2) for part in thirds]
        say(end=end, megabytes_by_thirds=medians, most=max(one[end] for one in kept) / 1e6)
    rates = [one["goodput"] / 1e6 for one in files if "goodput" in one]
    failed = sum(event != "received" for event in last["late"])
    say(files=len(files), all_same=all(one["same"] for one in files), late_and_failed=failed, goodput=rates)


def beside(options: argparse.Namespace, folder: Path) -> None:
    """Send the same bytes with iperf3: plain TCP over the first link, then MPTCP over both."""
    scenario, trace = lines(options, folder)
    iperf = "exec mptcpize run iperf3 -s"
    for mptcp in (False, True):
        task = {**common(options), "near": "beside", "mptcp": mptcp, "megabytes": options.megabytes}
        (came,) = over_links(scenario, task, folder, *(["--mptcp"] if mptcp else []), server=iperf)
        end = came["begin"] + came["seconds"]
        lte = carried(trace, came["begin"], end) / came["seconds"]
        say(mptcp=mptcp, share_of_dsl=came["goodput"] / 16e6, share_of_both=came["goodput"] / (16e6 + lte))


def common(options: argparse.Namespace) -> dict[str, Any]:
    return {"program": str(options.program.resolve()), "seed": options.seed}


def main() -> None:
    nears = {
        "goodput": near_goodput,
        "pull": near_pull,
        "failures": near_failures,
        "soak": near_soak,
        "beside": near_beside,
    }
    if sys.argv[1:2] == ["--near"]:
        task = json.loads(Path(sys.argv[2]).read_text())
        return nears[task["near"]](Near(task))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    runs = {"goodput": goodput, "pull": pull, "failures": failures, "soak": soak, "beside": beside}
    parser.add_argument("what", choices=runs)
    parser.add_argument("--program", type=Path, default=Path("target/release/plait-quic"))
    parser.add_argument("--trace", type=Path, help="recording of LTE in Mahimahi's format")
    parser.add_argument(
        "--megabytes", type=float, default=200, help="of the file in goodput, pull and beside"
    )
    parser.add_argument(
        "--schedulers", type=lambda text: text.split(","), default=["lowest-rtt", "blest", "ecf"]
    )
    parser.add_argument("--mtu", type=lambda text: text.split(","), default=["1232", "1472"])
    parser.add_argument("--transfers", type=int, default=1000, help="in pull and failures")
    parser.add_argument("--minutes", type=float, default=60, help="of the soak")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plait-links-") as folder:
        runs[options.what](options, Path(folder))
    return None


if __name__ == "__main__":
    main()
