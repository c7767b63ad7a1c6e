"""Structure of package and crates: no circular imports, short files, and the files of additions."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import plait

PACKAGE = Path(plait.__file__).parent
ROOT = Path(__file__).parents[2]
CRATES = ROOT / "crates"
LONGEST = {"ARCHITECTURE.md": 12_000, "CONTRIBUTING.md": 5_000}
"""Maximum sizes in bytes of the pages that a new contributor reads first."""
GENERATED = r"scenarios/transport\.py"
MPQUIC = "plait-(transport/src/mpquic|quic/|py/|sim/src/scenario/transport/mpquic)|wire/quic|packet/quic"
ADDITIONS = {
    "a scheduler": (r"\b(mp_dash|MpDash)\b", r"$^"),
    "a congestion controller": (r"\b(balia|Balia)\b", r"$^"),
    "a queue discipline": (r"\b(fq_codel|FqCodel)\b", r"python/"),
    # It is the default, competing flows reuse it, and a template of `plait init` names it. It also
    # has bounds and an oracle, which an application need not have.
    "an application": (
        r'\bBulk\b|\bmod bulk\b|"bulk"',
        r"plait-quic|/(bound|oracle)/|simulation/flow\.rs|scenarios/(start|scenario)\.py",
    ),
    # Beside the code that computes or uses them, the reader of the kernel's log, and the stub, whose
    # facts are generated.
    "a fact": (
        r"\bpacing_rate\b",
        r"plait-transport|/(algorithms|conformance|(foreign_)?controller)\b|plait-capture/src/decisions\.rs|_core\.pyi",
    ),
    "a capability": (r"\bshortest_first\b|_SHORTEST_FIRST\b", r"plait-transport|/(algorithms|conformance)/"),
    # FreeBSD's stack has one value of it.
    "a transport option": (r"\bfast_retransmit_threshold\b", GENERATED + "|plait-usrsctp"),
    # Linux detects them in its own way; validation compares the metric with the kernel's counter.
    "a metric": (r"\bundone_reductions\b", r"mptcp/linux/|validate/"),
    "a protocol": (
        r"\bmpquic\b|\bMpquic\b|\bmod quic\b",
        MPQUIC + "|simulation/|application/|scenarios/start\\.py|" + GENERATED,
    ),
}
"""The names of one member of each kind, and the files that name it for another reason."""

FACTS = ("plait-sched/src/view.rs", "plait-py/src/facts.rs")
"""The structs that schedulers see, in Rust and for Python."""


def modules(folder: Path) -> dict[str, Path]:
    """Returns the modules of the package in a folder, by name."""
    found = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(name: str, file: Path) -> Iterator[str]:
    """Yields all imports of a module, including imports in functions and for types only.

    For ``from a import b`` the result is ``a.b``, which may be a module.
    """
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            place = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{place}.{one.name}" for one in node.names)


def needs(name: str, wanted: str, known: Mapping[str, Path]) -> Iterator[str]:
    """Yields the modules that an import loads.

    These are the named module and its packages, except for packages that contain `name`.
    """
    parts = wanted.split(".")
    for end in range(2, len(parts) + 1):
        module = ".".join(parts[:end])
        if module in known and not f"{name}.".startswith(f"{module}."):
            yield module


def graph(folder: Path) -> dict[str, set[str]]:
    """Returns the modules that each module imports."""
    known = modules(folder)
    return {
        name: {module for wanted in imported(name, file) for module in needs(name, wanted, known)}
        for name, file in known.items()
    }


def circle(folder: Path) -> list[str]:
    """Returns a circle of modules, in order; empty if there is none."""
    try:
        TopologicalSorter(graph(folder)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_need_each_other() -> None:
    needed = graph(PACKAGE)
    assert len(needed) > 100
    assert "plait.runs.run" in needed["plait"]  # imports at first use count
    assert "plait.engines" in needed["plait.runs.run"]  # packages of modules count too
    assert circle(PACKAGE) == []


@pytest.mark.parametrize(
    "second",
    [
        "from pack.inner.first import A",
        "import pack.inner.first",
        "from pack.inner import first",
        "from .inner import first",
        "from .inner.first import A",
        "def later():\n    from pack.inner.first import A",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.inner.first import A",
        "from pack.inner.other import B",  # its package imports the first
    ],
)
def test_a_circle_is_found(second: str, tmp_path: Path) -> None:
    inner = tmp_path / "pack" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "pack" / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("from pack.inner.first import A")
    (inner / "first.py").write_text("from pack.second import C\nA = 1")
    (inner / "other.py").write_text("B = 1")
    (tmp_path / "pack" / "second.py").write_text("C = 1")
    assert circle(tmp_path / "pack") == []
    (tmp_path / "pack" / "second.py").write_text(second)
    assert {"pack.second", "pack.inner.first"} <= set(circle(tmp_path / "pack"))


def test_modules_take_names_from_where_they_are() -> None:
    """Modules must not import from `plait`, as users do: `plait` loads after its modules."""
    known = modules(PACKAGE)
    wrong = [
        f"{name}: {wanted}"
        for name, file in known.items()
        for wanted in imported(name, file)
        if wanted == "plait" or (wanted.count(".") == 1 and wanted.startswith("plait."))
        if wanted not in {*known, "plait._core"} - {"plait"}
    ]
    assert wrong == []


def named(text: str) -> Iterator[str]:
    """Yields the top-level modules of the crate that a file names.

    Comments and the tests inside the file do not count.
    """
    code = re.sub(r"//.*", "", text.split("\n#[cfg(test)]\nmod ", maxsplit=1)[0])
    yield from re.findall(r"\bcrate::(\w+)", code)
    for group in re.findall(r"\bcrate::\{(.*?)\};", code, re.DOTALL):
        flat = group
        while "{" in flat:
            flat = re.sub(r"\{[^{}]*\}", "", flat)
        yield from (one.split("::", maxsplit=1)[0].strip() for one in flat.split(","))


def crate(source: Path) -> dict[str, set[str]]:
    """Returns, for each top-level module of a crate, the others that it needs.

    Tests do not count.
    """
    tops = {file.stem if file.is_file() else file.name for file in source.iterdir()} - {"lib"}
    needed: dict[str, set[str]] = {top: set() for top in tops}
    for file in source.rglob("*.rs"):
        top, *inner = file.relative_to(source).with_suffix("").parts
        if top != "lib" and "tests" not in inner:
            needed[top] |= set(named(file.read_text(encoding="utf-8"))) & (tops - {top})
    return needed


@pytest.mark.parametrize(
    "name",
    [
        "plait-sched",
        "plait-transport",
        "plait-sim",
        "plait-quic",
        "plait-capture",
        "plait-link",
        "plait-usrsctp",
        "plait-wasm",
    ],
)
def test_no_modules_of_a_crate_need_each_other(name: str) -> None:
    needed = crate(CRATES / name / "src")
    assert any(needed.values())
    TopologicalSorter(needed).prepare()  # an error names the modules of a circle


def test_a_circle_of_a_crate_is_found(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "lib.rs").write_text("mod first;\nmod second;")
    (tmp_path / "first.rs").write_text("use crate::second::inner::A;")
    inner = tmp_path / "second" / "inner.rs"
    tests = "#[cfg(test)]\nmod tests {\n    use crate::first::B;\n}\n"
    inner.write_text(f"/// Not [`crate::first`].\npub struct A;\n{tests}")
    TopologicalSorter(crate(tmp_path)).prepare()
    for second in (
        "use crate::first::B;",
        "use crate::{other::{C, D}, first::B};",
        "type B = crate::first::B;",
    ):
        inner.write_text(second)
        with pytest.raises(CycleError):
            TopologicalSorter(crate(tmp_path)).prepare()


def test_files_are_short() -> None:
    root = PACKAGE.parent
    files = [*root.rglob("*.py"), *CRATES.glob("*/src/**/*.rs")]
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {str(file): length for file, length in lengths.items() if length > 400} == {}


def test_first_pages_are_short() -> None:
    sizes = {name: (ROOT / name).stat().st_size for name in LONGEST}
    assert {name: size for name, size in sizes.items() if size > LONGEST[name]} == {}


def code(file: Path) -> str:
    """Returns the text of a file without comments and without its test module."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return re.sub(r"#.*", "", text)
    return re.sub(r"//.*", "", text.partition("\n#[cfg(test)]\nmod tests {")[0])


def is_test(file: Path) -> bool:
    """Whether a Rust file is compiled for tests alone."""
    if "tests" in file.parts or file.name == "tests.rs":
        return True
    parents = (file.with_name("mod.rs"), file.with_name("lib.rs"), file.parent.with_suffix(".rs"))
    texts = (parent.read_text(encoding="utf-8") for parent in parents if parent.is_file())
    return any(re.search(rf"#\[cfg\(test\)\]\s*(pub\S* )?mod {file.stem};", text) for text in texts)


def touched(names: str, others: str) -> list[str]:
    """Returns the files that name a member, by path from the root."""
    rust = (file for file in CRATES.glob("*/src/**/*.rs") if not is_test(file))
    python = (*PACKAGE.glob("scenarios/*.py"), *PACKAGE.glob("results/*.py"), PACKAGE / "_core.pyi")
    files = [*rust, *python]
    found = (str(file.relative_to(ROOT)) for file in files if re.search(names, code(file)))
    return sorted(file for file in found if not re.search(others, file))


def test_additions_touch_as_many_files_as_the_table_says() -> None:
    """Counts the files of one member of each kind, against the table in ARCHITECTURE.md."""
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"^\| (an? [a-z ]+) \| (\d+) \|", table, re.M))
    files = {kind: touched(*sample) for kind, sample in ADDITIONS.items()}
    assert {kind: str(len(found)) for kind, found in files.items()} == numbers, files


def test_every_fact_is_in_python() -> None:
    """Fails for a fact of Rust that the struct for Python lacks; C's structs would not compile."""
    names = {"id": "index", "loss_ppm": "loss_rate"}
    for struct, last in (("Path", "pacing_rate"), ("Connection", "writer_waits"), ("Message", "deadline")):
        rust, python = (
            re.findall(
                r"^    (?:pub )?(\w+): ", re.split(rf"\bstruct {struct} ", text)[1].split("\n}")[0], re.M
            )
            for text in ((CRATES / name).read_text("utf-8") for name in FACTS)
        )
        assert last in rust
        assert {names.get(fact, fact) for fact in rust} <= set(python)


def test_every_public_name_is_there_and_listed() -> None:
    assert set(plait.__all__) <= set(dir(plait))
    for name in plait.__all__:
        assert getattr(plait, name).__doc__, name


def test_the_citation_has_the_version() -> None:
    package = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    cited = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited == [package["version"]]


def test_the_first_pages_are_short() -> None:
    """A page of how to do a task has at most 600 words beside commands and their output."""
    assert len((ROOT / "README.md").read_bytes()) <= 6 * 1024
    part = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("  - How-to:\n")[2]
    pages = re.findall(r": (\S+\.md)$", part.partition("\n  - ")[0], re.MULTILINE)
    assert "deploy.md" in pages
    words = {}
    for page in pages:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        text = re.sub(r"^( *)(```+).*?^\1\2 *$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
        words[page] = len(text.split())
    assert {page: count for page, count in words.items() if count > 600} == {}


def test_the_readme_names_the_oldest_rust_and_python() -> None:
    rust = re.search(r'^rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)
    python = re.search(r'^requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert rust is not None
    assert python is not None
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Rust ≥ {rust[1]} and Python ≥ {python[1]}" in text
