"""Makes a Debian package of a static ``plait-quic``, and tries it in an empty folder.

``python packaging/deb.py PROGRAM FOLDER``: writes ``FOLDER/plait-quic_VERSION_ARCHITECTURE.deb`` and
prints its name. Needs dpkg-deb and cargo. The package has the program, its manual page, systemd's
units, examples of their option files, the release notes, and the licences of all linked code. It
starts no service; its removal stops and disables them.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from licences import said, third_party
from man import page

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
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: plait-quic
Comment:
 The program contains the Rust standard library (MIT or Apache-2.0), crates whose
 licences are in third-party.gz, and the GNU C Library, whose licence is in
 /usr/share/common-licenses/LGPL-2.1.

Files: *
Copyright: 2026 The Plait developers
License: Expat or Apache-2.0

License: Expat
{expat}

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
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
                told = file.read_text().replace("/usr/local/bin/", "/usr/bin/")
                unit.write_text(told.replace("docs/real-links-service.md says how", "man plait-quic"))
            else:
                put(file, documents / "examples" / file.name, 0o644)
        frame = (ROOT / "packaging/man/plait-quic.1.in").read_text()
        write(tree / "usr/share/man/man1/plait-quic.1.gz", page(frame, program, version))
        put(ROOT / "CHANGELOG.md", documents / "CHANGELOG.md", 0o644)
        write(documents / "third-party.gz", "\n".join(third_party("plait-quic")))
        expat = (ROOT / "LICENSE-MIT").read_text().partition("\n\n")[2].strip().splitlines()
        indented = "\n".join(f" {line or '.'}" for line in expat)
        write(documents / "copyright", COPYRIGHT.format(expat=indented))
        control = tree / "DEBIAN/control"
        control.parent.mkdir(mode=0o755)
        control.write_text(CONTROL.format(version=version, architecture=architecture))
        for script in (ROOT / "packaging/debian").iterdir():
            put(script, control.with_name(script.name), 0o755)
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(package)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run(["dpkg-deb", "-x", str(package), str(unpacked)], check=True)
        if said(str(unpacked / "usr/bin/plait-quic"), "--version").split()[1] != version:
            sys.exit(f"{package}: the program in it has another version")
    print(f"wrote {package}, {package.stat().st_size / 1e6:.1f} MB")


def write(file: Path, text: str) -> None:
    """Writes a file, compressed if its name says so, and makes its folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    file.write_bytes(gzip.compress(data, 9, mtime=0) if file.suffix == ".gz" else data)
    file.chmod(0o644)


def put(source: Path, target: Path, mode: int) -> None:
    """Copies a file, and makes its folders."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.umask(0o022)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
