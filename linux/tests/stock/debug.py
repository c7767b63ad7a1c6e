"""Builds kernels that watch themselves, for races and memory: KASAN with lockdep, or KCSAN."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from chroot import ROOT, inside, run
from debian import CACHE, HERE, Kernel

from plait import RunError
from plait.linux import archive, programs
from plait.linux.build import options
from plait.linux.tools import Say

KINDS = ("kasan", "kcsan")
FOLDER = HERE / "debug"


def kernel(kind: str) -> Kernel:
    """Return the description of a kernel of this source and configuration."""
    digest = hashlib.sha256(archive.TARBALL_SHA256.encode() + configuration(kind)).hexdigest()[:8]
    return Kernel(
        release=f"{archive.VERSION}-{kind}-{digest}",
        origin=f"{archive.FILE} with debug/{kind}.config",
        version=archive.VERSION,
        packages={},
    )


def is_kind(one: Kernel) -> bool:
    """Return whether a kernel is one of these."""
    return not one.packages


def configuration(kind: str) -> bytes:
    """Return the options on top of `allnoconfig`."""
    return (FOLDER / "guest.config").read_bytes() + (FOLDER / f"{kind}.config").read_bytes()


def prepare(kind: str, say: Say) -> Kernel:
    """Build a kernel unless it exists.

    Raises:
        RunError: the source is not to be had, an option was refused, or a compiler failed.
    """
    one = kernel(kind)
    tree = ROOT / "usr/src" / one.release
    if (one.folder / "vmlinux").exists() and tree.exists():
        return one
    log = CACHE / f"build-{one.release}.log"
    log.unlink(missing_ok=True)
    _unpack(tree, log, say)
    (tree / "wanted.config").write_bytes(configuration(kind))
    make = (
        "make",
        "-C",
        f"/usr/src/{one.release}",
        f"LOCALVERSION={one.release.removeprefix(archive.VERSION)}",
    )
    inside(*make, "KCONFIG_ALLCONFIG=wanted.config", "allnoconfig", log=log)
    refused = options(configuration(kind).decode()) - options((tree / ".config").read_text())
    if refused:
        raise RunError(f"the configuration did not take {', '.join(sorted(refused))}")
    say(f"compiling {one.release} (long)")
    inside(*make, "-j2", "vmlinux", "modules", log=log)
    _install(one, tree)
    return one


def _unpack(tree: Path, log: Path, say: Say) -> None:
    done = tree / ".unpacked"
    if done.exists():
        return
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    tarball = CACHE / f"linux-{archive.VERSION}.tar.xz"
    if not tarball.exists() or programs.sha256(tarball) != archive.TARBALL_SHA256:
        with tempfile.TemporaryDirectory(dir=CACHE) as name:
            Path(name).chmod(0o755)
            shutil.move(archive.fetch(Path(name), say), tarball)
    run("tar", "-xJf", tarball, "-C", tree, "--strip-components=1", log=log)
    done.touch()


def _install(one: Kernel, tree: Path) -> None:
    """Put the image where those of Debian are, and the tree where modules look for it."""
    one.folder.mkdir(parents=True, exist_ok=True)
    modules = ROOT / "usr/lib/modules" / one.release
    modules.mkdir(parents=True, exist_ok=True)
    (modules / "build").unlink(missing_ok=True)
    (modules / "build").symlink_to(f"/usr/src/{one.release}")
    stripped = tree / "vmlinux.stripped"
    inside(
        "objcopy",
        "--strip-debug",
        *(f"/usr/src/{one.release}/{name}" for name in ("vmlinux", stripped.name)),
        log=CACHE / "objcopy.log",
    )
    shutil.move(stripped, one.folder / "vmlinux")
