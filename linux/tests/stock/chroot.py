"""Debian 13 in a folder: the compilers of all kernels, and the programs that the guest runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from debian import CACHE, HERE, KEYRING, NEEDED, Kernel, packages_of, unpack

from plait import RunError
from plait.linux import tools
from plait.linux.tools import Say

ROOT = CACHE / "chroot-trixie"
PACKAGES = (
    *(
        "gcc-12",
        "gcc-14",
        "gcc",
        "libc6-dev",
        "make",
        "pahole",
        "libelf1t64",
        "libssl3t64",
        "python3-minimal",
    ),
    *("bc", "bison", "flex", "libelf-dev", "libssl-dev"),
    *("busybox-static", "iproute2"),
    "qemu-system-x86",
)
"""Compilers of Debian 12 and 13, the tools of the kernels' build, the guest's programs, QEMU."""
PROGRAMS = ("usr/sbin/ip", "usr/sbin/tc")
"""Programs of the guest beside BusyBox."""
TRANSFER = sorted((HERE / "guest").glob("*.[ch]"))


def run(*command: str | Path, log: Path) -> None:
    """Run a command with its output in a log; a RunError has the last line."""
    with log.open("a", encoding="utf-8") as to:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=to, stderr=to, check=False)
    if done.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        message = f"{Path(command[0]).name} ended with {done.returncode}: {lines[-1] if lines else ''}; all in {log}"
        raise RunError(message)


def inside(*command: str, log: Path) -> None:
    """Run a command in the chroot, which has /dev and /proc for that time."""
    script = 'mount --bind /dev "$0/dev"; mount -t proc proc "$0/proc"; exec chroot "$0" nice -n 10 "$@"'
    run("unshare", "--mount", "sh", "-ec", script, ROOT, *command, log=log)


def install(say: Say) -> None:
    """Install Debian 13 and the compilers, once."""
    done = ROOT / ".installed"
    if done.exists() and done.read_text() == " ".join(PACKAGES):
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    log = CACHE / "chroot.log"
    if not (ROOT / "usr/bin/apt-get").exists():
        say("installing Debian 13 into a folder (two minutes, 1 GB)")
        shutil.rmtree(ROOT, ignore_errors=True)
        suite = ("trixie", str(ROOT), "http://deb.debian.org/debian")
        run("debootstrap", "--variant=minbase", f"--keyring={KEYRING}", *suite, log=log)
    inside = ("chroot", ROOT, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq")
    run(*inside, "update", log=log)
    run(*inside, "install", "--no-install-recommends", *PACKAGES, log=log)
    done.write_text(" ".join(PACKAGES))


def require() -> None:
    """Check that the machine can prepare and boot the kernels.

    Raises:
        RunError: a program, root's rights or the processor is missing.
    """
    tools.require(NEEDED)
    if os.geteuid() != 0:
        raise RunError("modules are built in a chroot, which needs root")
    if os.uname().machine != "x86_64":
        raise RunError(f"the kernels are for x86-64, and this machine is {os.uname().machine}")


def prepare(one: Kernel, say: Say) -> Kernel:
    """Fetch and unpack a kernel: image and modules into its folder, headers into the chroot.

    Raises:
        RunError: Debian does not serve a package, or a program failed.
    """
    if one.fetched and (ROOT / "usr/src" / f"linux-headers-{one.release}").exists():
        return one
    files = packages_of(one, say)
    shutil.rmtree(one.folder, ignore_errors=True)
    one.folder.mkdir(parents=True)
    for file in files:
        image = file.name.startswith(("linux-image-", "linux-binary-", "linux-modules-"))
        unpack(file, one.folder if image else ROOT)
    (one.folder / "packages.json").write_text(json.dumps(one.packages))
    return one


def qemu() -> list[str]:
    """Return the command of the chroot's QEMU for a call outside of the chroot.

    QEMU before 8.1 runs code of other processors that was changed meanwhile. Guests then crash with
    `int3` when a kernel changes its own code, as livepatching does
    (https://github.com/multipath-tcp/mptcp_net-next/issues/471).
    """
    loader = ROOT / "lib64/ld-linux-x86-64.so.2"
    folders = [ROOT / "usr/share/qemu", ROOT / "usr/share/seabios"]
    libraries = ("--library-path", str(ROOT / "usr/lib/x86_64-linux-gnu"))
    return [str(loader), *libraries, str(ROOT / "usr/bin/qemu-system-x86_64")] + [
        word for folder in folders for word in ("-L", str(folder))
    ]


def build(one: Kernel, source: Path, say: Say) -> list[Path]:
    """Build the modules of a folder against a kernel's headers, in a copy of the folder.

    Raises:
        RunError: the folder does not build; the compiler's lines are in a log.
    """
    if not any((source / name).exists() for name in ("Kbuild", "Makefile")):
        raise RunError(f"{source}: has neither Kbuild nor Makefile")
    say(f"building {source.name} for {one.release}")
    copy = ROOT / "build" / one.release
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    log = CACHE / f"build-{one.release}.log"
    log.unlink(missing_ok=True)
    make = ("make", "-C", f"/lib/modules/{one.release}/build", f"M=/build/{one.release}", "modules")
    inside(*make, log=log)
    modules = sorted(copy.rglob("*.ko"))
    if not modules:
        raise RunError(f"{source}: builds no module")
    return modules


def programs() -> dict[str, Path | bytes]:
    """Return the programs and libraries of the guest by their name there."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in TRANSFER)).hexdigest()[:16]
    transfer = ROOT / "build" / f"transfer-{digest}"
    if not transfer.exists():
        transfer.parent.mkdir(exist_ok=True)
        for file in TRANSFER:
            shutil.copy(file, transfer.parent)
        gcc = ("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-static")
        sources = [f"/build/{file.name}" for file in TRANSFER if file.suffix == ".c"]
        inside(*gcc, "-o", f"/build/{transfer.name}", *sources, log=CACHE / "transfer.log")
    files: dict[str, Path | bytes] = {"bin/busybox": ROOT / "usr/bin/busybox", "bin/transfer": transfer}
    for name in PROGRAMS:
        files[f"bin/{Path(name).name}"] = ROOT / name
        loaded = subprocess.run(
            ["chroot", ROOT, "ldd", f"/{name}"], capture_output=True, text=True, check=True
        )
        for library in re.findall(r"/\S+\.so\S*", loaded.stdout):
            files[library.lstrip("/")] = (ROOT / library.lstrip("/")).resolve()
    return files
