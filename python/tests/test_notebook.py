"""Runs the notebook cell by cell, as Jupyter does, with the value of the last expression."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import plait

pytestmark = pytest.mark.slow

FILE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "paper-figure.ipynb"


def run_cell(source: str, names: dict[str, Any], place: str) -> Any:
    """Runs a cell; returns the value of its last expression, or None without one."""
    tree = ast.parse(source, place)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, place, "exec"), names)
        return None
    tree.body.pop()
    exec(compile(tree, place, "exec"), names)
    return eval(compile(ast.Expression(last.value), place, "eval"), names)


def test_the_notebook_runs_and_every_result_can_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names: dict[str, Any] = {}
    shown = []
    for number, cell in enumerate(notebook["cells"]):
        assert len(cell["id"]) <= 64
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs are made, not kept"
            shown.append(run_cell("".join(cell["source"]), names, f"cell {number}"))
    pictures = [one for one in shown if hasattr(one, "_repr_png_") or hasattr(one, "savefig")]
    assert len(pictures) == 3
    assert all(hasattr(one, "_repr_html_") for one in (names["comparison"], names["repeated"]))
    assert names["dataset"].runs == 7 * 3 * 5
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in pdf or b"/Type42" in pdf or b"/TrueType" in pdf
    assert b"/Type3" not in pdf
    width, _ = names["figure"].get_size_inches()
    assert width == pytest.approx(3.33, abs=0.01)
    assert (tmp_path / "report.html").exists()
    assert isinstance(names["repeated"], plait.Repeated)
