"""Programs that the lab needs of the machine it runs on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from plait._core import RunError

PACKAGES: Mapping[str, str] = {
    "ip": "iproute2",
    "tc": "iproute2",
    "tcpdump": "tcpdump",
    "setarch": "util-linux",
}
"""Programs that a run needs, and the Debian packages that have them."""
ADMINISTRATION = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Where programs are that are not on everybody's path."""


def find(program: str) -> str | None:
    """The absolute name of a program, if it is there."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *ADMINISTRATION])
    return shutil.which(program, path=path)


def missing(packages: Mapping[str, str]) -> dict[str, str]:
    """Those that are not there."""
    return {program: package for program, package in packages.items() if find(program) is None}


def require(packages: Mapping[str, str]) -> dict[str, str]:
    """The absolute names of all; RunError says what to install."""
    lacking = missing(packages)
    if lacking:
        names = " ".join(dict.fromkeys(lacking.values()))
        message = f"missing: {', '.join(lacking)}; on Debian: sudo apt-get install {names}"
        raise RunError(message)
    return {program: str(find(program)) for program in packages}
