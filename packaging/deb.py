"""Makes a Debian package of a static ``plait-quic``, and tries it in an empty folder.

``python packaging/deb.py PROGRAM FOLDER``: writes ``FOLDER/plait-quic_VERSION_ARCHITECTURE.deb`` and
prints its name. Needs dpkg-deb. The package has the program, systemd's units, examples of their
option files, and the licences. It starts no service.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTROL = """\
Package: plait-quic
Version: {version}
Architecture: {architecture}
Maintainer: The Plait developers <plait@localhost>
Section: net
Priority: optional
Description: files, TCP connections and datagrams over several network paths
 plait-quic sends over all interfaces of a machine at once, and receives. The
 program is static and needs no library.
"""


def main(program: Path, folder: Path) -> None:
    """Makes the package and tries it."""
    version = said(str(program), "--version").split()[1]
    architecture = said("dpkg", "--print-architecture")
    package = folder / f"plait-quic_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory(prefix="plait-deb-") as name:
        tree, unpacked = Path(name) / "tree", Path(name) / "unpacked"
        tree.mkdir(mode=0o755)
        put(program, tree / "usr/bin/plait-quic", 0o755)
        documents = tree / "usr/share/doc/plait-quic"
        for file in sorted((ROOT / "packaging/systemd").iterdir()):
            if file.suffix == ".service":
                unit = tree / "usr/lib/systemd/system" / file.name
                put(file, unit, 0o644)
                unit.write_text(file.read_text().replace("/usr/local/bin/", "/usr/bin/"))
            else:
                put(file, documents / "examples" / file.name, 0o644)
        for title in ("LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"):
            put(ROOT / title, documents / title, 0o644)
        control = tree / "DEBIAN/control"
        control.parent.mkdir(mode=0o755)
        control.write_text(CONTROL.format(version=version, architecture=architecture))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(package)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run(["dpkg-deb", "-x", str(package), str(unpacked)], check=True)
        if said(str(unpacked / "usr/bin/plait-quic"), "--version").split()[1] != version:
            sys.exit(f"{package}: the program in it has another version")
    print(f"wrote {package}, {package.stat().st_size / 1e6:.1f} MB")


def put(source: Path, target: Path, mode: int) -> None:
    """Copies a file, and makes its folders."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def said(*command: str) -> str:
    """Returns the output of a command."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.umask(0o022)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
