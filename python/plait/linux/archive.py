"""The Linux source archive of the lab's kernel, identified by its hash, and its locations.

Another source gives another kernel, and possibly other results. So the archive must have this exact
content, whatever its location.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from plait._core import RunError
from plait.linux import tools
from plait.linux.programs import download, sha256, unpack

VERSION = "6.12.117"
"""Version of Linux."""
PACKAGE = "linux-source-6.12"
"""Debian's source package of this version."""
PACKAGE_VERSION = f"{VERSION}-1~deb12u1"
FILE = f"{PACKAGE}_{PACKAGE_VERSION}_all.deb"
PACKAGE_SHA256 = "e849faf31ca3555757f3a8877cb01af92122f744f75d1f3102734651c4e14703"
PACKAGE_SHA1 = "221d82478a259628d6016602b619a484e71e9424"
"""File name at snapshot.debian.org. It serves as an address only: the SHA-256 decides about
trust."""
TARBALL = "usr/src/linux-source-6.12.tar.xz"
"""The part of the package that is used."""
TARBALL_SHA256 = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f"
POOL = f"pool/updates/main/l/linux-6.12/{FILE}"
PLACES = (
    f"https://deb.debian.org/debian-security/{POOL}",
    f"https://security.debian.org/debian-security/{POOL}",
    f"https://snapshot.debian.org/file/{PACKAGE_SHA1}",
)
"""Download locations if apt lacks the package, in the order of attempts. Archives drop old versions
from their pools; the last location keeps them."""


def fetch(folder: Path, say: tools.Say) -> Path:
    """Fetch the tarball into `folder`.

    Raises:
        RunError: no location has it; the message has the reason of each.
    """
    failures: list[str] = []
    for place, attempt in _attempts(folder):
        say(f"fetching {FILE} (150 MB) from {place}")
        try:
            package = attempt()
            found = sha256(package)
        except (OSError, RunError) as error:
            failures.append(f"{place}: {error}")
            continue
        if found == PACKAGE_SHA256:
            return _unpack(package, folder)
        failures.append(f"{place}: its SHA-256 is {found} and not {PACKAGE_SHA256}")
        package.unlink()
    message = (
        f"the source of Linux {VERSION} is nowhere to be had: {'; '.join(failures)}; "
        f"fetch {FILE} elsewhere and give its tarball: plait linux build --source {Path(TARBALL).name}"
    )
    raise RunError(message)


def _attempts(folder: Path) -> Iterator[tuple[str, Callable[[], Path]]]:
    if tools.find("apt-get") is not None:
        yield "apt", lambda: _by_apt(folder)
    for place in PLACES:
        yield place, lambda place=place: download(place, folder / FILE)  # type: ignore[misc]


def _by_apt(folder: Path) -> Path:
    # apt switches to a user of its own, which needs write access to the folder.
    folder.chmod(0o777)
    apt = tools.find("apt-get") or "apt-get"
    command = [apt, "download", "-qq", f"{PACKAGE}={PACKAGE_VERSION}"]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    found = sorted(folder.glob("*.deb"))
    if done.returncode == 0 and found:
        return found[0]
    errors = [line for line in done.stderr.splitlines() if line.startswith("E:")]
    raise RunError(" ".join(errors[:1]) or f"apt-get download ended with {done.returncode}")


def _unpack(package: Path, folder: Path) -> Path:
    unpack(package, TARBALL, folder)
    package.unlink()
    return folder / TARBALL
