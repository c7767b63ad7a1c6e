"""The host's side of the tests in Debian's kernels: no kernel boots here, a script stands for QEMU."""

import json
import lzma
import struct
import sys
from pathlib import Path

import pytest

from plait import RunError

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "linux" / "tests" / "stock"))

import chroot  # noqa: E402
import debian  # noqa: E402
import gain  # noqa: E402
import initramfs  # noqa: E402
import qemu  # noqa: E402
import verdicts  # noqa: E402

TAINT = "plait: loading out-of-tree module taints kernel."


def members(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Returns mode and content of each file of a cpio archive, as the kernel reads it."""
    found: dict[str, tuple[int, bytes]] = {}
    offset = 0
    while True:
        assert archive[offset : offset + 6] == b"070701"
        numbers = [int(archive[at : at + 8], 16) for at in range(offset + 6, offset + 110, 8)]
        mode, size, length = numbers[1], numbers[6], numbers[11]
        name = archive[offset + 110 : offset + 110 + length - 1].decode()
        content = offset + (110 + length + 3) // 4 * 4
        if name == "TRAILER!!!":
            assert len(archive) % 4 == 0
            return found
        found[name] = mode, archive[content : content + size]
        offset = content + (size + 3) // 4 * 4


def test_the_archive_has_folders_before_files(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"12345")
    found = members(initramfs.archive({"bin/sh": tmp_path / "one", "a/b/c": b"", "init": b"x" * 8}))
    assert list(found) == ["a", "a/b", "bin", "bin/sh", "a/b/c", "init"]
    assert found["bin/sh"] == (0o100755, b"12345")
    assert found["init"] == (0o100755, b"x" * 8)
    assert found["a/b"] == (0o040755, b"")


def compressed_kernel(payload: bytes, setup_sectors: int) -> bytes:
    """Returns a file with the header of a compressed kernel."""
    header = bytearray((setup_sectors + 1) * 512)
    header[0x1F1] = setup_sectors
    struct.pack_into("<II", header, 0x248, 16, len(payload))
    return bytes(header) + bytes(16) + payload + b"behind"


def test_the_kernel_is_taken_out_of_its_compression(tmp_path: Path) -> None:
    image, elf = tmp_path / "vmlinuz", tmp_path / "vmlinux"
    image.write_bytes(compressed_kernel(lzma.compress(b"\x7fELF and so on") + b"size", 7))
    initramfs.vmlinux(image, elf)
    assert elf.read_bytes() == b"\x7fELF and so on"
    image.write_bytes(compressed_kernel(b"\x1f\x8b gzip", 7))
    with pytest.raises(RunError, match="neither zstd nor xz"):
        initramfs.vmlinux(image, elf)


def result(**more: object) -> str:
    return json.dumps({"case": "transfers", "scheduler": "ecf", "ok": True, "began": 1, "ended": 3.4, **more})


def test_unexpected_messages_fail_their_case_alone() -> None:
    lines = [
        f"LOG [   18.750999] {TAINT}",
        result(),
        "LOG [   20.000001] BUG: kernel NULL pointer dereference, address: 0000000000000008",
        f"LOG [   20.000002] {TAINT} And more.",
        result(),
        result(ok=False),
        result(ok=None),
    ]
    found = list(verdicts.results(lines, "plait"))
    assert [one.ok for one in found] == [True, False, False, None]
    assert found[1].messages == [
        "BUG: kernel NULL pointer dereference, address: 0000000000000008",
        f"{TAINT} And more.",
    ]
    assert [one.row()[2] for one in found] == ["passed", "FAILED", "FAILED", "skipped"]


def report(kind: str, *functions: str) -> list[str]:
    rule = "=" * 66
    return [
        f"LOG [    5.100000] {line}" for line in (rule, f"BUG: {kind}: data-race in a / b", *functions, rule)
    ]


def test_only_races_of_the_module_fail_a_case() -> None:
    elsewhere = report("KCSAN", " tcp_poll+0x12/0x90", " ksys_read+0x12/0x90")
    own = report("KCSAN", " engine_get_send+0x12/0x90 [plait]")
    memory = report("KASAN", " tcp_poll+0x12/0x90")
    lines = [*elsewhere, *elsewhere, result(), *elsewhere, *own, result(), *memory, result(), *elsewhere[:-1]]
    found = list(verdicts.results([*lines, result()], "plait"))
    assert [(one.ok, one.races, len(one.messages)) for one in found] == [
        (True, 2, 0),
        (False, 1, 4),
        (False, 0, 4),
        (False, 0, 4),
    ]
    assert found[0].facts() == "2 data races elsewhere in the kernel"


def test_a_row_adds_the_files_up() -> None:
    one = {"right": 60, "connections": 60, "wrong": 0, "failed": 0, "fallbacks": 0, "subflows": 61}
    two = {"right": 7, "connections": 8, "wrong": 1, "failed": 0, "fallbacks": 2, "subflows": 0}
    (found,) = verdicts.results([result(ok=False, changes=5, transfers=[one, two, None])], "plait")
    facts = "changes 5, 67 of 68 files right, wrong 1, fallbacks 2, subflows 61"
    assert found.row() == ("transfers", "ecf", "FAILED", "2", facts)


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts a shell script in QEMU's place; $console and $results are the files of its serial ports."""
    file = folder / "qemu-system-x86_64"
    begin = 'for argument; do case $argument in file:*) files="$files ${argument#file:}";; esac; done\n'
    file.write_text(f"#!/bin/sh\n{begin}set -- $files; console=$1 results=$2\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setattr(chroot, "qemu", lambda: [str(file)])


def lines(folder: Path, silence: float = 60) -> list[str]:
    return list(qemu.boot(qemu.Guest(image=folder / "vmlinux", silence=silence), b"", folder))


def test_a_guest_ends_with_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, r"printf 'one\r\ntwo\r\nEND\r\n' >> $results; exec sleep 1000")
    assert lines(tmp_path) == ["one", "two"]


def test_a_guest_that_ends_early_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo one >> $results; echo 'Kernel panic - not syncing' >> $console")
    with pytest.raises(RunError, match=r"ended before its last case.*\nKernel panic"):
        lines(tmp_path)


def test_a_guest_that_hangs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo 'rcu: INFO: stall' >> $console; exec sleep 1000")
    with pytest.raises(RunError, match=r"silent for 1 s.*\nrcu: INFO: stall"):
        lines(tmp_path, silence=1)


def test_a_kernel_has_the_hash_of_each_of_its_packages() -> None:
    for one in debian.kernels():
        kinds = {name.split("-")[1] for name in one.packages}
        assert {"headers", "kbuild"} < kinds
        assert kinds & {"image", "binary"}
        assert all(len(digest) == 64 for digest in one.packages.values())
    with pytest.raises(RunError, match=r"'5\.10': unknown; expected one of: 6\.12\.95"):
        debian.named("5.10")


def test_a_package_of_another_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program stands for apt; it serves a file, or an error and the name of a newer kernel."""
    monkeypatch.setattr(debian, "CACHE", tmp_path)
    one = debian.kernels()[0]
    package = next(iter(one.packages))
    served = tmp_path / "apt-get"
    served.write_text(f'#!/bin/sh\n[ "$1" = update ] || echo other > {package}_1_amd64.deb\n')
    served.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(RunError, match=rf"its SHA-256 is \w+ and not {one.packages[package]}"):
        debian.packages_of(one, lambda _: None)


def test_a_version_that_is_not_served_names_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "CACHE", tmp_path)
    one = debian.kernels()[0]
    package = next(iter(one.packages))
    newer = [package.replace("6.12.95", version) for version in ("6.12.99", "6.12.101")]
    scripts = {
        "apt-get": '[ "$1" = update ]',
        "apt-cache": f"printf '%s - Linux\\n' {' '.join(newer)}",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    digest = one.packages[package]
    with pytest.raises(RunError, match=rf"{digest}, is not to be had from Debian: served is .*6\.12\.101"):
        debian.packages_of(one, lambda _: None)


def test_the_script_of_gains_has_a_run_for_each_case_and_scheduler() -> None:
    """Parameters of the module are set for one run, and options need one."""
    cases = gain.cases()
    schedulers = ["lowest-rtt", "lowest-rtt+rp"]
    lines = gain.script(cases, schedulers).decode().splitlines()
    runs = [line.split() for line in lines if line.startswith("measure ")]
    assert [tuple(words[1:3]) for words in runs] == [
        (case.name, name) for case in cases for name in schedulers
    ]
    assert {words[-2] for case, words in zip(cases, runs[::2], strict=True) if not case.blocks} == {"0"}
    (with_rp, without) = (gain.script(cases[:1], [name]) for name in reversed(schedulers))
    assert b"parameter retransmission_penalization 1" in with_rp
    assert b"\nparameter " not in without


def test_a_table_of_gains_has_the_lab_in_brackets() -> None:
    cases = gain.cases(["three-links", "blocks-equal"])
    names = sum(gain.SCHEDULERS.values(), ())
    labs = {(case.name, name): 2e7 if name == "blest" else 1e7 for case in cases for name in names}
    lines = ['{"case": "three-links", "scheduler": "blest", "goodput_bps": 15000000, "mean_ms": 7}']
    text = gain.tables(cases, {"": {}, "plait": gain.read(lines, cases)}, labs)
    assert "|  | `default` | nan (10) |" in text
    assert "| 1 | `blest` | 15 (20) |" in text
