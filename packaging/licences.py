"""Collects the licences of the crates that are linked into a package.

``python packaging/licences.py CRATE FILE`` writes them into FILE. Needs cargo.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LICENCES = ("LICENSE*", "LICENCE*", "COPYING*", "COPYRIGHT*", "NOTICE*")
"""Files of a crate that hold its licence."""


def third_party(package: str) -> Iterator[str]:
    """Yields the licence of each crate that is linked into a package, with its files."""
    linked = said("cargo", "tree", "--locked", "-p", package, "-e", "normal", "--prefix", "none", "-f", "{p}")
    known = json.loads(said("cargo", "metadata", "--locked", "--format-version", "1"))["packages"]
    crates = {(one["name"], one["version"]): one for one in known if one["source"] is not None}
    names = sorted({tuple(line.split()[:2]) for line in linked.splitlines() if line})
    for name, version in names:
        one = crates.get((name, version.removeprefix("v")))
        if one is None:  # a crate of Plait
            continue
        yield f"{name} {one['version']}: {one['license']}\n"
        folder = Path(one["manifest_path"]).parent
        for file in sorted({file for pattern in LICENCES for file in folder.glob(pattern) if file.is_file()}):
            yield f"{file.name} of {name}:\n\n{file.read_text()}\n"


def said(*command: str) -> str:
    """Returns the output of a command."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[2]).write_text("\n".join(third_party(sys.argv[1])), encoding="utf-8")
