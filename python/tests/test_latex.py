"""Tables in LaTeX have the numbers of the tables in text."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import DSL_AND_LTE, SCENARIO, Command

from plait.support.latex import booktabs, escaped
from plait.support.tables import Content

PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "redundant"]
seeds = 2
set = { "path.lte.rtt" = "{rtt}ms" }
[[axis]]
rtt = [20, 200]
"""


def numbers(text: str) -> list[str]:
    """Returns the numbers of a text in order of size, without its comments and labels."""
    lines = [line for line in text.splitlines() if not line.startswith(("%", r"\label"))]
    return sorted(re.findall(r"\d+(?:\.\d+)?", "\n".join(lines).replace(",", "")))


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50 % of a_b & {c} #1 $2", r"50 \% of a\_b \& \{c\} \#1 \$2"),
        ("−1.5 … 2", r"$-$1.5 \,\dots\, 2"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("< 0.001", r"\textless{} 0.001"),
        ("–", "--"),
    ],
)
def test_special_characters_are_escaped(text: str, latex: str) -> None:
    assert escaped(text) == latex


def test_a_table_has_the_rules_of_booktabs() -> None:
    content = Content(
        ["metric", "two\nlines"], [["[bold]a_1[/bold]", "1"], ["b", "[green]2[/green]"]], breaks=[0]
    )
    assert booktabs(content, "title %") == "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            r"\caption{title \%}",
            r"\begin{tabular}{@{}lr@{}}",
            r"\toprule",
            r"metric & \begin{tabular}[b]{@{}r@{}}two \\ lines\end{tabular} \\",
            r"\midrule",
            r"\textbf{a\_1} & 1 \\",
            r"\midrule",
            r"b & 2 \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def labels(latex: str) -> list[str]:
    """Returns the labels of all tables, each of which has one behind its caption."""
    found = re.findall(r"\\caption\{.*\}\n\\label\{(.*)\}", latex)
    assert len(found) == latex.count(r"\begin{table}") == len(set(found))
    return found


@pytest.mark.parametrize("more", [(), ("--seeds", "3")])
def test_compare_prints_the_same_numbers(command: Command, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "my_links.toml").write_text(SCENARIO.replace('"two paths"', '"my_links"'))
    asked = ("compare", "my_links.toml", "--schedulers", "round-robin:segments=4,daps", *more)
    text, latex = command(*asked), command(*asked, "--latex")
    assert (latex.returncode, latex.stderr) == (0, "")
    tables, meaning = text.stdout.split("application delay: from", 1)
    assert len(numbers(tables)) > 40
    # Narrower tables repeat the schedulers' names, and so the 4 of a parameter.
    assert not Counter(numbers(tables)) - Counter(numbers(latex.stdout))
    assert set(numbers(latex.stdout)) == set(numbers(tables))
    assert "my\\_links" in latex.stdout
    assert labels(latex.stdout)[0] == "tab:my-links"
    comments = [line[2:] for line in latex.stdout.splitlines() if line.startswith("% ")]
    assert meaning.splitlines()[1] in comments


def test_analyze_prints_the_same_numbers(command: Command, tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(f'duration = "400ms"\n{DSL_AND_LTE}')
    (tmp_path / "plan.toml").write_text(PLAN)
    assert command("sweep", "plan.toml").returncode == 0
    text, latex = command("analyze", "results/plan"), command("analyze", "results/plan", "--latex")
    assert (latex.returncode, latex.stderr) == (0, "")
    rows = [line for line in text.stdout.splitlines() if re.search(r"[│┃]", line)]
    cells = "\n".join(line for line in latex.stdout.splitlines() if line.endswith(r" \\"))
    assert len(numbers("\n".join(rows))) > 20
    assert set(numbers(cells)) == set(numbers("\n".join(rows)))
    assert {"tab:goodput-bps", "tab:goodput-bps-regions"} <= set(labels(latex.stdout))
    assert "tab:goodput-bps-2" not in labels(latex.stdout)
    assert latex.stdout.count(r"\resizebox{\linewidth}{!}{%") == latex.stdout.count(r"\end{tabular}}") > 0
    captions = re.findall(r"\\caption\{(.*)\}\n", latex.stdout)
    assert captions[0].startswith(
        "Goodput (Mbit/s), more is better. Mean: over 2 points. Better by: difference of"
    )
    assert captions[0].endswith("Only 2 points: too few for reliable intervals and p.")
    # An interval is in the cell of its value, so that no table ends between them.
    assert re.search(r" \(\S+ \\,\\dots", cells)
    assert not re.search(r"& \(", cells)
    done = command("analyze", "results/plan", "--latex", "--json")
    assert (done.returncode, done.stderr) == (2, "plait: --latex and --json exclude each other\n")
