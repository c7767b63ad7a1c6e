"""Debian's kernel packages: fetched by an apt of its own, known by their SHA-256, unpacked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plait import RunError
from plait.linux import kernel, tools
from plait.linux.programs import sha256
from plait.linux.tools import Say

HERE = Path(__file__).parent
CACHE = kernel.cache().parent / "stock"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = (
    ("debian", "bookworm-backports"),
    ("debian", "trixie"),
    ("debian-security", "trixie-security"),
    ("debian", "trixie-backports"),
)
NEEDED: tools.Packages = {
    "debootstrap": ("debootstrap", "debootstrap", "debootstrap"),
    "apt-get": ("apt", "apt", "apt"),
    "dpkg-deb": ("dpkg", "dpkg", "dpkg"),
    "tar": ("tar", "tar", "tar"),
    "unshare": ("util-linux", "util-linux", "util-linux"),
    "zstd": ("zstd", "zstd", "zstd"),
    "xz": ("xz-utils", "xz", "xz"),
}
"""Programs of the host."""


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel of Debian, and its packages."""

    release: str
    """As `uname -r` prints it."""
    origin: str
    version: str
    packages: Mapping[str, str]
    """SHA-256 by name."""

    @property
    def folder(self) -> Path:
        """Folder of the unpacked kernel and its modules."""
        return CACHE / "kernels" / self.release

    @property
    def fetched(self) -> bool:
        """Whether exactly these packages are unpacked."""
        try:
            return bool(json.loads((self.folder / "packages.json").read_text()) == self.packages)
        except (OSError, ValueError):
            return False


def kernels() -> list[Kernel]:
    """Return the kernels of `kernels.toml`, the oldest first."""
    table = tomllib.loads((HERE / "kernels.toml").read_text(encoding="utf-8"))
    return [
        Kernel(release=one["release"], origin=one["from"], version=one["version"], packages=one["packages"])
        for one in table["kernel"]
    ]


def named(name: str) -> Kernel:
    """Return the kernel whose release begins with a name.

    Raises:
        RunError: there is no such kernel.
    """
    for one in kernels():
        if one.release.startswith(name):
            return one
    message = f"kernel {name!r}: unknown; expected one of: {', '.join(one.release for one in kernels())}"
    raise RunError(message)


def _apt(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of apt, with sources and state of its own. apt checks Debian's signatures."""
    place = CACHE / "apt"
    for name in ("lists/partial", "archives/partial"):
        (place / name).mkdir(parents=True, exist_ok=True)
    sources = (
        f"deb [signed-by={KEYRING}] http://deb.debian.org/{archive} {suite} main\n"
        for archive, suite in SUITES
    )
    (place / "sources.list").write_text("".join(sources))
    (place / "status").touch()
    settings = {
        "Dir::State": place,
        "Dir::State::status": place / "status",
        "Dir::Cache": place,
        "Dir::Etc::sourcelist": place / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root",
    }
    (place / "apt.conf").write_text("".join(f'{key} "{value}";\n' for key, value in settings.items()))
    environment = {**os.environ, "APT_CONFIG": str(place / "apt.conf"), "LC_ALL": "C"}
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _newer(package: str) -> str:
    """Return a sentence on the newest kernel that Debian serves in place of a package's."""
    pattern = re.sub(r"\d[\w.]*\+deb", "[0-9.]*+deb", re.escape(package).replace("\\", ""))
    pattern = "^" + pattern.replace("+", "[+]") + "$"
    found = _apt("apt-cache", "search", "--names-only", pattern).stdout
    names = [line.split()[0] for line in found.splitlines()]
    if not names:
        return "no kernel of this kind is served"
    newest = max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])
    return f"served is {newest}"


def _download(one: Kernel, package: str, folder: Path) -> Path:
    digest = one.packages[package]
    before = [file for file in folder.glob(f"{package}_*.deb") if sha256(file) == digest]
    if before:
        return before[0]
    done = _apt("apt-get", "download", "-qq", f"{package}={one.version}", folder=folder)
    files = sorted(folder.glob(f"{package}_*.deb"))
    if done.returncode != 0 or not files:
        message = (
            f"{package}: version {one.version}, SHA-256 {digest}, is not to be had from Debian: {_newer(package)}; "
            f"put the file into {folder}, or change {HERE.name}/kernels.toml"
        )
        raise RunError(message)
    for file in files:
        if sha256(file) == digest:
            return file
    message = f"{files[-1].name}: its SHA-256 is {sha256(files[-1])} and not {digest}"
    raise RunError(message)


def unpack(package: Path, folder: Path) -> None:
    """Unpack a package; links to folders in `folder` stay, as /lib is one."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as inner:
        command = ["tar", "-x", "--keep-directory-symlink", "-C", str(folder)]
        done = subprocess.run(command, stdin=inner.stdout, capture_output=True, text=True, check=False)
    if done.returncode != 0 or inner.returncode != 0:
        message = f"{package.name}: cannot be unpacked: {done.stderr.strip()}"
        raise RunError(message)


def packages_of(one: Kernel, say: Say) -> list[Path]:
    """Download all packages of a kernel.

    Raises:
        RunError: one is not served any more, or has another content.
    """
    folder = CACHE / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    have = {file.name.partition("_")[0] for file in folder.glob("*.deb")}
    if not have.issuperset(one.packages):
        say(f"fetching {one.release} from {one.origin} (50 MB)")
        done = _apt("apt-get", "update", "-qq")
        if done.returncode != 0:
            raise RunError(f"apt-get update: {' '.join(done.stderr.split())}")
    return [_download(one, package, folder) for package in one.packages]
