"""Runs the examples of the README and of every page in `docs` as printed, page by page.

The blocks of a page run one after the other in one folder. There, `docs` is the folder of the
repository. The kind of a block decides how the test treats it:

- `sh`, `bash`: commands. Commands that install or run everything are skipped; `cargo` runs in the
  repository.
- `python`: a program; `toml`: at least valid. A block that starts with `# file: NAME` is written
  to that file.
- `rust`, `c`: the exact text of a file in `docs/examples`, named by `// file: NAME`. A command of
  the page runs the file.
- `text` or no kind: output, which does not run. With the word `printed` it is the output of the
  block before: each line was printed, in this order. `[…]` stands for lines that are left out.

Blocks with the word `no-run` do not run; `NO_RUN` has the reason for their page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|//) file: (\S+)\n")
SLOW = ("make ", "git clone", "apt-get")
"""Beginnings of commands that install or run everything, this test included."""
KINDS = ("sh", "bash", "python", "toml", "ini", "rust", "c", "text", "")
NO_RUN = {
    "README.md": "needs namespaces; test_link.py types its two commands where they are allowed",
    "docs/quick-start-sending.md": "needs namespaces; test_link.py sends a file as there",
    "docs/send-file.md": "needs two machines; test_link.py and test_transfers.py send files",
    "docs/rented-server.md": "needs two machines and systemd; plait-quic's tests start each unit's command",
    "docs/router.md": "needs a router; what OpenMPTCProuter and OpenWrt document",
    "docs/cluster.md": "starts processes that stay; test_cluster.py makes sweeps on such a cluster",
    "docs/stock-kernel.md": "loads a module into the kernel; linux/tests/stock does so in guests",
    "docs/stock-gain.md": "boots guests for half an hour",
    "docs/deploy.md": "changes the machine's network; test_deploy.py runs it in the lab's kernel",
    "docs/real-links-service.md": "needs two machines and systemd; plait-quic's tests start each unit's command",
    "docs/playground.md": "needs the page of `make playground`; test_playground_page.py opens it",
    "docs/links.md": "needs namespaces and iperf3; test_link.py runs such commands where they are allowed",
    "docs/learning.md": "half a minute of training; test_gym.py trains for two rounds",
    "docs/validation.md": "boots the kernel that `plait linux build` makes, for minutes; `make validate` runs it",
    "docs/questions/README.md": "minutes of runs; `make questions` makes them",
    "docs/bench.md": "half an hour of runs; test_bench.py makes a few of them again",
    "docs/how-far.md": "20 minutes of runs; test_how_far.py makes those of a few points",
    "docs/oracle.md": "compiles the simulator's tests; plait-sim's tests make fewer runs of the same search",
    "docs/league.md": "ten minutes of runs; test_league.py makes those of one point",
    "docs/questions/asymmetry.md": "a minute of runs; test_questions.py runs the same with a few points",
    "docs/questions/rtt-error.md": "two minutes of runs; test_questions.py runs the same with a few points",
    "docs/questions/bidirectional.md": "two minutes of runs; test_questions.py runs the same with a few points",
    "docs/questions/decision-cost.md": "a benchmark; nothing else may run beside it",
    "docs/questions/lte.md": "needs recordings that are not ours to distribute",
}
"""Pages with `no-run` blocks, and the reason for each."""
PAGES = [
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if page.is_file()
]
GENERATED = re.compile(
    r"^<!-- generated: [^\n]+ -->\n.*?^<!-- generated until here -->$", re.MULTILINE | re.DOTALL
)
"""Text generated from the code: signatures, which are no examples."""
PREAMBLE = f'cargo() {{ (cd "{ROOT}" && command cargo "$@"); }}\n'


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Yields kind, words after the kind, and text of every fenced block of a page, in order."""
    text = GENERATED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for kind, words, body in FENCE.findall(text):
        yield kind, words.strip(), body


@pytest.mark.parametrize("page", PAGES)
def test_every_example_runs(page: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(DOCS)
    left_out, output = False, ""
    for kind, words, body in blocks(page):
        assert kind in KINDS, f"{page}: a block is {kind!r}; expected one of: {', '.join(KINDS)}"
        allowed = ("", "printed") if kind == "text" else ("", "no-run")
        assert words in allowed, f"{page}: {words!r} after {kind!r}; expected one of {allowed}"
        named = FILE.match(body)
        if named is not None:
            (tmp_path / named[1]).write_text(body, encoding="utf-8")
        if words == "no-run":
            left_out, output = True, ""
        elif words == "printed":
            assert set(body.split()) - {"[…]"}, f"{page}: an empty output"
            wanted = lacking(body, output)
            assert wanted is None, f"{page}: the output has no line {wanted!r} there:\n{output}"
        elif kind in ("rust", "c"):
            assert named is not None, (
                f"{page}: a block of {kind} begins with `// file: NAME` of docs/examples"
            )
            same = body.partition("\n")[2] == (DOCS / "examples" / named[1]).read_text(encoding="utf-8")
            assert same, f"{page}: docs/examples/{named[1]} has changed; run docs/draw.py"
        elif kind == "toml":
            tomllib.loads(body)
        elif kind in ("sh", "bash", "python"):
            output = run(page, kind, body, tmp_path)
    assert left_out == (page in NO_RUN), f"{page}: no-run and the reasons of {Path(__file__).name} contradict"


def lacking(shown: str, output: str) -> str | None:
    """Returns the first line that the output does not have behind the lines before it."""
    rest = iter([line.rstrip() for line in output.splitlines()])
    lines = [line.rstrip() for line in shown.splitlines() if line.rstrip() not in ("", "[…]")]
    return next((line for line in lines if line not in rest), None)


def test_a_line_that_was_not_printed_is_found() -> None:
    output = "a \nb\nc\n"
    assert lacking("a\n[…]\nc\n", output) is None
    assert lacking("c\na\n", output) == "a"
    assert lacking("ab\n", output) == "ab"


def run(page: str, kind: str, body: str, folder: Path) -> str:
    """Runs a block in the folder of the page; returns its output. A failure shows both."""
    if kind == "python":
        arguments = [sys.executable, "-c", body]
    else:
        lines = [line for line in body.splitlines() if not line.strip().startswith(SLOW)]
        arguments = ["bash", "-euo", "pipefail", "-c", PREAMBLE + "\n".join(lines)]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{page}:\n{body}\n{done.stdout[-2000:]}{done.stderr}"
    return done.stdout + done.stderr
