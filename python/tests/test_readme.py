"""The README's examples run as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(python|bash|sh|toml)( [^\n]*)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SLOW = ("make ", "git clone", "apt-get")
"""Commands that set up or run everything, which this test is part of."""


def blocks() -> list[tuple[str, str, str]]:
    """Language, words after it and text of every fenced block, in order."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return [(language, (words or "").strip(), body) for language, words, body in FENCE.findall(text)]


def test_every_example_runs(tmp_path: Path) -> None:
    """One after the other, in one folder: a block whose first line is `# file: NAME` is written there as that file."""
    if not blocks():
        pytest.skip("README.md has no examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for language, words, body in blocks():
        named = re.match(r"# file: (\S+)\n", body)
        if named is not None:
            (tmp_path / named[1]).write_text(body)
        if "no-run" in words or language == "toml":
            continue
        if language == "python":
            arguments = [sys.executable, "-c", body]
        else:
            lines = [line for line in body.splitlines() if not line.strip().startswith(SLOW)]
            arguments = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
        done = subprocess.run(
            arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{body}\n{done.stderr}"
