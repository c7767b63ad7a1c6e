"""Contents of the source distribution: a wheel built from it is complete.

`make dist` builds both.
"""

import gzip
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from plait import _core

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import man  # noqa: E402

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


CONTROL = ROOT / "linux/package/plait-mptcp"
QUIC = """#!{python}
import sys

from plait import _core


class Host:
    name = "plait-quic"


sys.exit(_core.transfer_command(["plait-quic", *sys.argv[1:]], Host()))
"""


def options_of_quic() -> dict[str, list[str]]:
    """Returns the options and arguments of each command, as its definition has them."""
    return {
        command: [
            one["option"] or one["value"] for one in json.loads(_core.transfer_options(command))["arguments"]
        ]
        for command in ("send", "recv", "proxy")
    }


def options_of_control() -> dict[str, list[str]]:
    """Returns the options and arguments of each command in the program's text."""
    found: dict[str, list[str]] = {}
    for kind, name in re.findall(r"add_(parser|argument)\(\s*\"([^\"]+)\"", CONTROL.read_text()):
        if kind == "parser":
            found[name] = options = []
        else:
            options.append(
                name if name.startswith("-") else {"settings": "NAME=VALUE"}.get(name, name.upper())
            )
    return found


@pytest.fixture
def quic(tmp_path: Path) -> Path:
    """Makes a program with the commands of plait-quic."""
    program = tmp_path / "plait-quic"
    program.write_text(QUIC.format(python=sys.executable))
    program.chmod(0o755)
    return program


def sections(page: str, level: str) -> dict[str, str]:
    """Returns the sections of a page as text, without the escapes of roff."""
    parts = re.split(rf"^\.{level} (.*)$", page, flags=re.MULTILINE)
    plain = (re.sub(r"\\f[BIR]|\\&", "", one).replace("\\-", "-").replace("\\e", "\\") for one in parts[1:])
    return dict(zip(*[plain] * 2, strict=True))


@pytest.mark.parametrize("name", ["plait-quic", "plait-mptcp"])
def test_every_option_is_in_the_manual_page(name: str, quic: Path) -> None:
    if name == "plait-quic":
        frame, program, expected = ROOT / "packaging/man/plait-quic.1.in", quic, options_of_quic()
    else:
        frame, program, expected = CONTROL.with_suffix(".8.in"), CONTROL, options_of_control()
    page = man.page(frame.read_text(), program, "1.2.3")
    whole = sections(page, "SH")
    assert f'"{name} 1.2.3"' in page.replace("\\-", "-")
    assert not re.search("@[A-Z]+@", page)
    each = sections(whole["COMMANDS"], "SS")
    assert list(each) == list(expected)
    for command, options in expected.items():
        shown = re.findall(r"^\.TP\n(.*)\n(.+)$", each[command], re.MULTILINE)
        assert sorted(one.split()[0].strip("[].") for one, _ in shown) == sorted(options)
        assert all(text.endswith((".", "…")) for _, text in shown)
        assert f"{name} {command}" in whole["SYNOPSIS"]
    if shutil.which("groff"):
        told = subprocess.run(
            ["groff", "-ww", "-man", "-Tutf8", "-Kutf8"],
            input=page,
            check=True,
            capture_output=True,
            text=True,
        )
        assert told.stderr == ""


@pytest.fixture
def package(request: pytest.FixtureRequest, quic: Path, tmp_path: Path) -> dict[str, str]:
    """Makes a Debian package; returns its files with their texts."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("needs dpkg-deb")
    command = {
        "plait-quic": [sys.executable, "packaging/deb.py", str(quic), str(tmp_path)],
        "plait-mptcp": ["make", "-C", "linux/package", "deb", f"OUT={tmp_path}"],
    }[request.param]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.glob("*.deb")
    subprocess.run(["dpkg-deb", "-R", file, tmp_path / "unpacked"], check=True)
    found = {}
    for one in sorted((tmp_path / "unpacked").rglob("*")):
        if one.is_file():
            data = gzip.decompress(one.read_bytes()) if one.suffix == ".gz" else one.read_bytes()
            found[one.relative_to(tmp_path / "unpacked").as_posix()] = data.decode()
    return found


@pytest.mark.parametrize("package", ["plait-quic"], indirect=True)
def test_the_package_of_plait_quic_is_complete(package: dict[str, str]) -> None:
    units = {Path(name).stem for name in package if name.endswith(".service")}
    options = {Path(name).name for name in package if "/examples/" in name}
    assert units == {"plait-proxy", "plait-proxy-near", "plait-recv"}
    for unit in units:
        text = package[f"usr/lib/systemd/system/{unit}.service"]
        assert "ExecStart=/usr/bin/plait-quic " in text
        assert f"{unit.removeprefix('plait-')}.toml" in options
        assert "/usr/local" not in text
        assert "docs/" not in text
        for script in ("postinst", "prerm"):
            assert f" {unit}.service" in package[f"DEBIAN/{script}"]
        state = re.findall(r"^StateDirectory=(.*)$", text, re.MULTILINE)
        assert all(f" {name}" in package["DEBIAN/postrm"] for name in state)
    page = package["usr/share/man/man1/plait-quic.1.gz"].replace("\\-", "-")
    assert {name for name in options if f"/etc/plait/{name}" in page} == options
    assert "Apache-2.0" in package["usr/share/doc/plait-quic/copyright"]
    licences = package["usr/share/doc/plait-quic/third-party.gz"]
    for name in ("noq-proto", "ring", "rustls"):
        assert re.search(rf"^\S+ of {name}:\n\n(.+\n)+", licences, re.MULTILINE), name


@pytest.mark.parametrize("package", ["plait-mptcp"], indirect=True)
def test_the_package_of_plait_mptcp_has_its_page(package: dict[str, str]) -> None:
    names = {name for name in package if not name.startswith(("DEBIAN/", "usr/src/"))}
    assert names == {
        "etc/plait-mptcp.conf",
        "usr/lib/systemd/system/plait-mptcp.service",
        "usr/sbin/plait-mptcp",
        "usr/share/doc/plait-mptcp/copyright",
        "usr/share/man/man8/plait-mptcp.8.gz",
    }
