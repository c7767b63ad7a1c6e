"""Schedulers from shared libraries, with one rule in three languages.

The rule is in Python, in Rust outside the source tree, and in C with the header.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from conftest import Command

import plait
from plait.results.recorded import read_results
from plait.scenarios.scheduler import parse_choice
from plait.sweep import Plan, read, sweep

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "examples" / "capped"
HEADER = ROOT / "crates" / "plait-sched-ffi" / "include"
KINDS = ("capped.py", "libcapped.so", "capped.so")
"""Files of the scheduler in Python, Rust and C."""


def compiled(source: Path, library: Path, *options: str) -> Path:
    """Compiles a C source file to a shared library."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    warnings = ("-Wall", "-Wextra", "-Werror", *options)
    places = (f"-I{HEADER}", "-o", str(library), source.name)
    arguments = ["gcc", "-std=c11", "-O2", *warnings, "-shared", "-fPIC", *places]
    subprocess.run(arguments, cwd=source.parent, check=True)
    return library


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the libraries from the template, in a folder outside the source tree."""
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo")
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True)
    crate = ROOT / "crates" / "plait-sched-ffi"
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
    for arguments in (["add", "--quiet", "--path", str(crate)], ["build", "--quiet", "--release"]):
        subprocess.run(["cargo", *arguments], cwd=folder, env=environment, check=True)
    shutil.copy(folder / "target" / "release" / "libcapped.so", folder)
    compiled(folder / "capped.c", folder / "capped.so")
    return folder


@pytest.fixture
def outside(built: Path, scenario_file: Path) -> Path:
    """Copies the three schedulers beside a scenario, into the folder of the command."""
    for name in (*KINDS, "capped.c"):
        shutil.copy(built / name, scenario_file.parent)
    return scenario_file.parent


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr, done.stderr


def test_python_rust_and_c_agree_to_the_digit(outside: Path, command: Command) -> None:
    names = [f"{kind}:Capped:share={share}" for share in ("0.5", "0.8") for kind in KINDS]
    arguments = ["compare", "two.toml", "--schedulers", ",".join(["lowest-rtt", *names]), "--decisions"]
    done = command(*arguments, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)
    assert [run["scheduler"] for run in runs] == ["lowest-rtt", *names]
    same = [[run["metrics"], run["paths"]] for run in runs]
    assert same[1] == same[2] == same[3]
    assert same[4] == same[5] == same[6]
    assert len({run["metrics"]["goodput_bps"] for run in runs}) > 2  # the parameter has an effect
    results = read_results(outside / "out")
    for one in results[2:4]:
        for table in ("packets", "decisions", "decision_paths"):
            assert getattr(one, table).equals(getattr(results[1], table)), (one.scheduler, table)


def test_source_and_hash_are_kept(outside: Path, command: Command) -> None:
    sources = dict(zip(KINDS, ("capped.py", "capped.rs", "capped.c"), strict=True))
    for kind in KINDS:
        done = command("run", "two.toml", "--scheduler", f"{kind}:Capped:share=0.5", "--json")
        assert json.loads(done.stdout)["own_scheduler"] == {
            "file": kind,
            "class": "Capped",
            "parameters": {"share": "0.5"},
            "sha256": hashlib.sha256((outside / kind).read_bytes()).hexdigest(),
            "source": (TEMPLATE / sources[kind]).read_text(encoding="utf-8"),
        }


def test_a_sweep_over_a_parameter_in_threads_and_processes(outside: Path, tmp_path: Path) -> None:
    table = {
        "scenario": "two.toml",
        "schedulers": [f"{kind}:Capped:share={{share}}" for kind in KINDS],
        "seeds": 2,
        "axis": [{"share": [0.5, 1.0]}],
    }
    plan = Plan(table, outside)
    frame = sweep(plan, tmp_path / "here").dataset.frame
    assert frame["error"].null_count() == len(frame) == 12
    rows = frame.drop("index", "scheduler").rows()
    for start in range(0, len(rows), 3):
        assert rows[start] == rows[start + 1] == rows[start + 2]
    assert frame["goodput_bps"].n_unique() > 2
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        sweep(plan, tmp_path / "there", executor=executor)
    assert read(tmp_path / "there").frame.equals(frame)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("libcapped.so", ["expected libcapped.so:CLASS with one of: Capped"]),
        ("libcapped.so:Caped", ["class 'Caped': unknown in libcapped.so (did you mean Capped?)"]),
        ("libcapped.so:Capped:shar=1", ["'libcapped.so:Capped:shar=1'", 'unknown parameter "shar": choose share']),
        ("libcapped.so:Capped:share=much", ['parameter share is "much"']),
        ("libcapped.so:Capped:share=0", ["share is 0: more than 0"]),
        ("libcapped.so:Capped:share=1,x=2", ["':' separates parameters, not ','"]),
        ("capped.so:Capped:shar=1", ['unknown parameter in "shar=1": choose share']),
        ("capped.so:Capped:share=-1", ["share is -1: more than 0"]),
        ("none.so:Capped", ["no such file: none.so"]),
        ("text.so:Capped", ["text.so cannot be loaded: ", "expected a shared library with plait_scheduler_class_at"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(given: str, words: list[str], outside: Path, command: Command) -> None:
    (outside / "text.so").write_text("no library\n")
    refused(command("run", "two.toml", "--scheduler", given), "scheduler '", *words)


@pytest.mark.usefixtures("outside")
def test_the_kernel_takes_no_library(command: Command) -> None:
    done = command("run", "two.toml", "--engine", "linux", "--scheduler", "capped.so:Capped")
    refused(done, "scheduler Capped: not with the linux engine: the kernel runs no shared library")


BROKEN = {
    "fails": ("decide", "{ (void)state; return 77; }", "scheduler Capped: decide failed with error 77"),
    "silent": ("decide", "{ (void)state; return PLAIT_OK; }", "Capped never decided to send: "),
    "nonsense": (
        "decide",
        "{ (void)state; decision->kind = 99; return PLAIT_OK; }",
        "Capped: decide answered 99, which is no decision",
    ),
    "symbol": (
        "decide",
        "{ int missing(void); (void)state; return missing(); }",
        "undefined symbol: missing",
    ),
    "nothing": (
        "plait_scheduler_class_at",
        "",
        "broken.so has no scheduler; expected a shared library with plait_",
    ),
    "incomplete": (".decide = decide,", "", "class 0: a plait_scheduler_class needs name, create and decide"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_library_that_fails_is_blamed(what: str, outside: Path, command: Command) -> None:
    place, body, said = BROKEN[what]
    text = (outside / "capped.c").read_text()
    if what == "nothing":
        text = text.replace(place, "another_name")
    elif what == "incomplete":
        text = text.replace(place, body)
    else:
        begin = text.index("static int32_t decide(")
        end = text.index("\n}\n", begin) + 3
        head = text[begin : text.index("{", begin)]
        text = text[:begin] + head + body + "\n" + text[end:]
    (outside / "broken.c").write_text(text)
    library = compiled(outside / "broken.c", outside / "broken.so", "-Wno-error")
    done = command("run", "two.toml", "--scheduler", f"{library.name}:Capped")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert done.returncode == (0 if what == "silent" else 1 if place == "decide" and what != "symbol" else 2)


def test_a_library_that_was_built_anew_is_another_one(outside: Path) -> None:
    scenario = outside / "two.toml"
    before = plait.run(scenario, f"{outside}/capped.so:Capped:share=0.5")
    text = (outside / "capped.c").read_text()
    (outside / "capped.c").write_text(
        text.replace("self->share * path->cwnd", "2 * self->share * path->cwnd")
    )
    kept = parse_choice("capped.so:Capped:share=0.5", outside)
    compiled(outside / "capped.c", outside / "capped.so")
    after = plait.run(scenario, f"{outside}/capped.so:Capped:share=0.5")
    assert before.own_scheduler is not None
    assert after.own_scheduler is not None
    assert before.own_scheduler["sha256"] != after.own_scheduler["sha256"]
    assert before.own_scheduler["source"] != after.own_scheduler["source"]
    assert after.metrics != before.metrics
    assert after.metrics == plait.run(scenario, f"{outside}/capped.py:Capped:share=1").metrics
    assert plait.run(scenario, kept).metrics == before.metrics  # the loaded scheduler runs


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_sent_over_real_paths_by_each(kind: str, outside: Path) -> None:
    content = outside / "content"
    content.write_bytes(bytes(500_000))
    with plait.receive(outside / "inbox", listen="127.0.0.1:0") as receiver:
        sent = plait.send(
            content,
            receiver.address,
            fingerprint=receiver.fingerprint,
            secret=receiver.secret,
            local=["127.0.0.2", "127.0.0.3"],
            scheduler=f"{outside / kind}:Capped:share=0.5",
        )
        assert receiver.wait(60).error is None
    assert sent.bytes == 500_000
