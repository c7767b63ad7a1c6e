"""Contents of the source distribution: a wheel built from it is complete.

`make dist` builds both.
"""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINKED = {
    "papers": "python/plait/papers/data",
    "linux": "python/plait/linux/source",
    "usrsctp": "python/plait/usrsctp/source",
}
"""Folders of the repository and their symbolic links in the package; wheels cannot hold links."""


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tarfile.TarInfo]:
    """Builds the source distribution; returns its members by path below its top folder."""
    out = tmp_path_factory.mktemp("dist")
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run([maturin, "sdist", "--out", out], cwd=ROOT, check=True, capture_output=True)
    (file,) = out.iterdir()
    with tarfile.open(file) as archive:
        return {member.name.partition("/")[2]: member for member in archive}


def tracked(folder: str) -> list[str]:
    """Returns the files of a folder that git tracks."""
    done = subprocess.run(["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("folder", LINKED)
def test_what_the_package_links_to_is_there_as_files(
    folder: str, members: dict[str, tarfile.TarInfo]
) -> None:
    files = [LINKED[folder] + file.removeprefix(folder) for file in tracked(folder)]
    assert len(files) > 10
    assert [file for file in files if file not in members or not members[file].isfile()] == []


def test_all_of_the_package_is_there_and_nothing_that_was_built(members: dict[str, tarfile.TarInfo]) -> None:
    package = [file for file in tracked("python/plait") if file not in LINKED.values()]
    assert [file for file in package if file not in members] == []
    assert [file for file in members if file.endswith((".so", ".pyc"))] == []


def test_the_version_is_the_same_everywhere() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    version = workspace["package"]["version"]
    own = {name: one["version"] for name, one in workspace["dependencies"].items() if "path" in one}
    assert len(own) > 5
    assert own == dict.fromkeys(own, version)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version
    manifest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in manifest["dynamic"]
