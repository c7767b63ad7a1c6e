"""Compiles the simulator for the browser: `make playground`.

The stable compiler builds Rust's standard library for the browser from its source. That needs two
internal switches: `RUSTC_BOOTSTRAP`, and the variable by which cargo's own tests name the source.
So compiler and source are of one version.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from plait._core import RunError
from plait.cli.errors import Ended, guarded
from plait.linux import tools
from plait.linux.programs import run_program
from plait.playground import library, simulator
from plait.playground.page import page
from plait.support.files import write_text

UNAVAILABLE = 3
"""Exit status if the compiler or the library's source is not to be had here."""
TARGET = "wasm32-unknown-unknown"
PROFILE = "playground"


def build(*, package: Path | None = None, say: tools.Say) -> Path:
    """Compile the simulator into the package, and return its file.

    Args:
        package: Debian's package of the library's source. Default: fetch it.
        say: callback for the message of each step.

    Raises:
        UnavailableError: the compiler is another one, or the source is not to be had.
        RunError: a step failed.
    """
    root = simulator.ROOT
    if not simulator.in_tree():
        message = f"{root}: no source tree of Plait; the playground is built from one"
        raise RunError(message)
    _require_compiler()
    source = library.require(package=package, say=say)
    say("compiling the simulator for the browser: two minutes at first")
    hashed = simulator.sources()
    target = Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")
    switches = {"RUSTC_BOOTSTRAP": "1", "__CARGO_TESTS_ONLY_SRC_ROOT": str(source)}
    command = ["cargo", "build", "--locked", "--profile", PROFILE, "--target", TARGET, "-p", "plait-wasm"]
    # Places of files are in messages of panics; the same source gives the same bytes anywhere.
    homes = {source: "/rust", Path(os.environ.get("CARGO_HOME") or "~/.cargo").expanduser(): "/cargo"}
    flags = [f"--remap-path-prefix={place}={name}" for place, name in {**homes, root: "/plait"}.items()]
    # Names of folders can have spaces, at which cargo would divide RUSTFLAGS.
    switches["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    run_program([*command, "-Zbuild-std=std,panic_abort"], cwd=root, more=switches)
    simulator.write((target / TARGET / PROFILE / "plait_wasm.wasm").read_bytes(), hashed)
    return simulator.FILE


def _require_compiler() -> None:
    compiler = tools.find("rustc")
    command = [compiler or "false", "-V"]
    said = subprocess.run(command, cwd=simulator.ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout
    if said.split()[1:2] != [library.VERSION]:
        message = (
            f"the playground needs rustc {library.VERSION}, found {said.strip() or 'none'}: rustup "
            f"toolchain install {library.VERSION}, then RUSTUP_TOOLCHAIN={library.VERSION} make playground"
        )
        raise library.UnavailableError(message)


def main() -> None:
    """Compile the simulator and write the page: `python -m plait.playground.build PAGE [PACKAGE]`.

    The exit status is 3 if the compiler or the library's source is not to be had here.
    """
    place, *package = map(Path, sys.argv[1:])
    try:
        made = build(package=package[0] if package else None, say=_say)
    except library.UnavailableError as error:
        sys.stderr.write(f"make playground: {error}\n")
        raise Ended(UNAVAILABLE) from error
    place.parent.mkdir(parents=True, exist_ok=True)
    write_text(place, page())
    sizes = f"simulator {made.stat().st_size / 1e3:.0f} kB, page {place.stat().st_size / 1e3:.0f} kB"
    _say(f"wrote {place} ({sizes})")


def _say(text: str) -> None:
    print(f"make playground: {text}")  # noqa: T201


if __name__ == "__main__":
    guarded(main)
