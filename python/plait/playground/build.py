"""Compiles the simulator for the browser: `make playground`.

The stable compiler builds Rust's standard library for the browser from its source. That needs two
internal switches: `RUSTC_BOOTSTRAP`, and the variable by which cargo's own tests name the source.
So compiler and source are of one version.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

from plait._core import RunError
from plait.cli.errors import guarded
from plait.linux import tools
from plait.linux.programs import run_program
from plait.playground import library
from plait.playground.page import SIMULATOR, page
from plait.support.files import write_text

ROOT = Path(__file__).resolve().parents[3]
TARGET = "wasm32-unknown-unknown"
PROFILE = "playground"


def build(*, package: Path | None = None, say: tools.Say) -> Path:
    """Compile the simulator into the package, and return its file.

    Args:
        package: Debian's package of the library's source. Default: fetch it.
        say: callback for the message of each step.

    Raises:
        RunError: the compiler is another one, the source is not to be had, or a step failed.
    """
    if not (ROOT / "crates" / "plait-wasm").is_dir():
        message = f"{ROOT}: no source tree of Plait; the playground is built from one"
        raise RunError(message)
    _require_compiler()
    source = library.require(package=package, say=say)
    say("compiling the simulator for the browser: two minutes at first")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    switches = {"RUSTC_BOOTSTRAP": "1", "__CARGO_TESTS_ONLY_SRC_ROOT": str(source)}
    command = ["cargo", "build", "--locked", "--profile", PROFILE, "--target", TARGET, "-p", "plait-wasm"]
    # Places of files are in messages of panics; the same source gives the same bytes anywhere.
    homes = {source: "/rust", Path(os.environ.get("CARGO_HOME") or "~/.cargo").expanduser(): "/cargo"}
    flags = " ".join(
        f"--remap-path-prefix={place}={name}" for place, name in {**homes, ROOT: "/plait"}.items()
    )
    run_program([*command, "-Zbuild-std=std,panic_abort"], cwd=ROOT, more={**switches, "RUSTFLAGS": flags})
    made = (target / TARGET / PROFILE / "plait_wasm.wasm").read_bytes()
    SIMULATOR.write_bytes(gzip.compress(made, 9, mtime=0))
    return SIMULATOR


def _require_compiler() -> None:
    compiler = tools.find("rustc")
    said = "none" if compiler is None else subprocess.check_output([compiler, "-V"], cwd=ROOT, text=True)
    if said.split()[1:2] != [library.VERSION]:
        message = (
            f"the playground needs rustc {library.VERSION}, found {said.strip()}: rustup toolchain install "
            f"{library.VERSION}, then RUSTUP_TOOLCHAIN={library.VERSION} make playground"
        )
        raise RunError(message)


def main() -> None:
    """Compile the simulator and write the page: `python -m plait.playground.build PAGE [PACKAGE]`."""
    place, *package = map(Path, sys.argv[1:])
    say = lambda text: print(f"make playground: {text}")  # noqa: E731, T201
    made = build(package=package[0] if package else None, say=say)
    write_text(place, page())
    sizes = f"simulator {made.stat().st_size / 1e3:.0f} kB, page {place.stat().st_size / 1e3:.0f} kB"
    say(f"wrote {place} ({sizes})")


if __name__ == "__main__":
    guarded(main)
