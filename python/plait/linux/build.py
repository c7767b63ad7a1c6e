"""Builds the kernel once, into the cache: source, patches, configuration, compilation."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from plait._core import RunError
from plait.linux import archive, machine, tools
from plait.linux.kernel import SOURCE, Build, cache, folder
from plait.linux.programs import install, run_program, sha256

PINNED = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "plait",
    "KBUILD_BUILD_HOST": "plait",
    "KBUILD_BUILD_VERSION": "1",
}
"""Build information that the kernel mixes into its random numbers. It must be the same for
everybody."""
NEEDED_BYTES = 4 << 30


def build(*, source: Path | None = None, force: bool = False, debug: bool = False, say: tools.Say) -> Path:
    """Build the kernel unless it exists, and return it.

    Args:
        source: a tree or a tarball of this version of Linux. Default: fetch Debian's package.
        force: build even if the kernel exists.
        debug: build the self-checking kernel (`debug.config`), which takes several times longer to
            build and to run.
        say: callback for the message of each step.

    Raises:
        RunError: the machine or its installed programs are unsuitable, or a step failed; the
            message has the last lines of its output.
    """
    target = folder(debug=debug)
    if not force and Build.read(target) is not None and (target / "linux").is_file():
        return target / "linux"
    machine.require()
    install({**tools.TO_BUILD, **tools.TO_RUN}, say)
    cache().mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(cache()).free < NEEDED_BYTES:
        message = f"{cache()}: a build needs {NEEDED_BYTES >> 30} GiB of space for a while"
        raise RunError(message)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache()) as name:
        work = Path(name)
        tree, digest = _tree(source, work, say)
        version = kernel_version(tree)
        if version != archive.VERSION:
            message = f"{source or archive.FILE}: Linux {version}; the patches are for {archive.VERSION}"
            raise RunError(message)
        say(f"patching Linux {version}")
        prepare(tree)
        say("configuring")
        output = configure(tree, work, debug=debug)
        say(f"compiling on {_jobs()} cores: some minutes")
        _make(tree, output, work, f"-j{_jobs()}", "linux")
        target.mkdir(parents=True, exist_ok=True)
        finished = target / "linux.part"
        shutil.copyfile(output / "linux", finished)
        finished.chmod(0o755)
        finished.replace(target / "linux")
    seconds = round(time.monotonic() - begin, 1)
    origin = str(source or archive.FILE)
    Build(version=version, source=origin, source_sha256=digest, seconds=seconds).write(target)
    return target / "linux"


def _tree(source: Path | None, work: Path, say: tools.Say) -> tuple[Path, str | None]:
    """Return a writable tree of Linux in `work`, and the hash of its archive."""
    if source is not None and source.is_dir():
        say(f"copying {source}")
        tree = work / "source"
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        return tree, None
    if source is None:
        fetched = work / "package"
        fetched.mkdir()
        work.chmod(0o755)
        tarball = archive.fetch(fetched, say)
    else:
        tarball = source
    if not tarball.is_file():
        message = f"{tarball}: no such tree or tarball"
        raise RunError(message)
    digest = sha256(tarball)
    if digest != archive.TARBALL_SHA256:
        say(f"{tarball.name} is not the archive that others build from: results may differ from theirs")
    say(f"unpacking {tarball.name}")
    unpacked = work / "unpacked"
    unpacked.mkdir()
    run_program(["tar", "-xf", str(tarball.resolve()), "-C", str(unpacked)])
    trees = [one for one in unpacked.iterdir() if (one / "Makefile").is_file()]
    if len(trees) != 1:
        message = f"{tarball}: expected one tree of Linux in it"
        raise RunError(message)
    return trees[0], digest


def kernel_version(tree: Path) -> str:
    """Return the version of a tree from its Makefile."""
    try:
        text = (tree / "Makefile").read_text(encoding="utf-8")
    except OSError:
        return "?"
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    return ".".join(found.get(key, "?") for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def prepare(tree: Path) -> None:
    """Apply the patches, and copy the schedulers into the tree."""
    for file in sorted((SOURCE / "patches").glob("*.patch")):
        run_program(["patch", "-p1", "--forward", "--fuzz=0", "-i", str(file.resolve())], cwd=tree)
    shutil.copytree(SOURCE / "schedulers", tree / "net/mptcp/plait", dirs_exist_ok=True)


def configure(tree: Path, work: Path, *, debug: bool = False) -> Path:
    """Configure the build, and return its folder.

    Raises:
        RunError: the configuration lacks an option of `lab.config` or `debug.config`.
    """
    output, wanted = work / "output", work / "wanted.config"
    output.mkdir()
    fragments = ("lab.config", "debug.config") if debug else ("lab.config",)
    wanted.write_text("".join((SOURCE / name).read_text("utf-8") for name in fragments), "utf-8")
    _make(tree, output, work, "allnoconfig", more={"KCONFIG_ALLCONFIG": str(wanted)})
    refused = options(wanted.read_text("utf-8")) - options((output / ".config").read_text("utf-8"))
    if refused:
        message = f"the configuration did not take {', '.join(sorted(refused))}"
        raise RunError(message)
    return output


def options(text: str) -> set[str]:
    """Return the options that a configuration sets."""
    return {line for line in text.splitlines() if line.startswith("CONFIG_")}


def _jobs() -> int:
    return os.cpu_count() or 1


def _make(tree: Path, output: Path, work: Path, *targets: str, more: Mapping[str, str] | None = None) -> None:
    command = ["make", "-C", str(tree), f"O={output}", "ARCH=um", *targets]
    run_program(command, more={**PINNED, **(more or {})}, log=work / "log")
