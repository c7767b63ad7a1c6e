"""Installs a wheel as a user would who has no Rust, away from the sources, and uses it.

``python packaging/check.py WHEEL``: exits with 1 and says which command failed, and how.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SCENARIO = """\
name = "two links"
duration = "5s"

[[path]]
name = "dsl"
rate = "16Mbit"
delay = "12.5ms"
queue = "100p"

[[path]]
name = "lte"
rate = "30Mbit"
delay = "30ms"
queue = "300p"

[transport]
protocol = "mptcp"
"""
COMMANDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("--version",), "plait, version"),
    (("run", "links.toml"), "goodput"),
    (("compare", "links.toml", "--schedulers", "all", "--out", "results"), "lowest-rtt"),
    (("report", "results", "-o", "report.html"), "report.html"),
    (("advise", "--path", "dsl 16Mbit 25ms", "--path", "lte 30Mbit 60ms 0.05%"), "goodput"),
    (("reproduce", "--list"), "daps-icc14"),
    (("reproduce", "daps-icc14"), "index.html"),
    (("schedulers",), "blest"),
)
"""What is run, and a word that its output must have."""
SYSTEM = "/usr/bin:/bin"


def main(wheel: Path) -> int:
    """Installs and tries; the exit code."""
    with tempfile.TemporaryDirectory(prefix="plait-wheel-") as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        home = folder / "home"
        home.mkdir()
        (home / "links.toml").write_text(SCENARIO)
        environment = {
            "HOME": str(home),
            "PATH": f"{folder / 'venv' / 'bin'}:{SYSTEM}",
            "LANG": "C.UTF-8",
            # Indexes and proxies of whoever runs this are theirs to choose.
            **{
                key: text
                for key, text in os.environ.items()
                if key.startswith("PIP_") or "proxy" in key.lower()
            },
        }
        if shutil.which("cargo", path=SYSTEM):
            print(f"note: a system-wide Rust is in {SYSTEM}, so that its absence is not tested")
        pip = (
            "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
        )
        steps = [((*pip, str(wheel.resolve())), ""), *((("plait", *rest), word) for rest, word in COMMANDS)]
        for command, word in steps:
            done = subprocess.run(
                command, cwd=home, env=environment, capture_output=True, text=True, check=False
            )
            said = done.stdout + done.stderr
            if done.returncode != 0 or word not in said:
                print(
                    f"{' '.join(command)}: exit code {done.returncode}, expected 0 and {word!r} in:\n{said}"
                )
                return 1
            print(f"works: {' '.join(command)}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python packaging/check.py WHEEL")
    sys.exit(main(Path(sys.argv[1])))
