"""Runs every scheduler in a kernel with debug checks: its console has no report.

`make kernel-debug` builds this kernel and runs the tests; `PLAIT_LINUX_DEBUG_KERNEL` names another
kernel.
"""

import os
import re
from pathlib import Path

import pytest

import plait
from plait.linux import boot, kernel, refusals, tools

KERNEL = Path(os.environ.get("PLAIT_LINUX_DEBUG_KERNEL") or kernel.folder(debug=True) / "linux")

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        not KERNEL.is_file() or bool(tools.missing(tools.TO_RUN)),
        reason="no kernel that watches itself is built (plait linux build --debug)",
    ),
]

REPORT = re.compile(
    r"BUG:|WARNING:|KASAN|UBSAN|unreferenced object|ODEBUG|list_(add|del) corruption|INFO: (task|trying)"
    r"|possible (circular|recursive|irq)|suspicious RCU|stack backtrace|Call Trace|Kernel panic|held lock"
)


def network(
    duration: str,
    short: str = "",
    long: str = 'rate = "4Mbit"\nrtt = "80ms"',
    buffer: str = "1MB",
    more: str = "",
) -> str:
    """Returns a scenario of two paths from lines of their tables, and `more` tables."""
    return f"""
duration = "{duration}"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "{buffer}"
{more}
[[path]]
name = "short"
rate = "8Mbit"
rtt = "20ms"
queue = "50p"
{short}
[[path]]
name = "long"
queue = "50p"
{long}
"""


NETWORKS = {
    "loss": network("4s", 'loss = "2%"', 'rate = "4Mbit"\nrtt = "80ms"\nloss = "1%"'),
    "outage": network("8s", 'outages = [{ from = "1s", to = "4s" }]'),
    "small-window": network("4s", long='rate = "2Mbit"\nrtt = "200ms"', buffer="64kB"),
    "file": network("20s", 'loss = "1%"', buffer="256kB", more='[workload]\nkind = "file"\nsize = "300kB"'),
}
OPTIONS = ("", "+rp", "+bm")


def reports(console: str) -> list[str]:
    """Returns the lines of a console with reports of the kernel's checks."""
    return [line for line in console.splitlines() if REPORT.search(line)]


def test_reports_are_recognized() -> None:
    assert reports("BUG: KASAN: slab-use-after-free in plait_look+0x1/0x2\n[ 1.0] ok")
    assert reports("WARNING: possible circular locking dependency detected")
    assert reports("unreferenced object 0x123 (size 64):")
    assert not reports("kmemleak: scanned\nLinux version 6.12")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("scheduler", sorted(refusals.KERNEL_NAMES))
def test_the_kernel_has_nothing_to_report(
    scheduler: str, option: str, network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernel.OVERRIDE, str(KERNEL))
    monkeypatch.setenv("PLAIT_LINUX_KEEP", str(tmp_path))
    monkeypatch.setattr(boot, "PATIENCE_SECONDS", 1800.0)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f'name = "{network}"\nseed = 1\n{NETWORKS[network]}', "utf-8")
    result = plait.run(str(scenario), scheduler=scheduler + option, engine="linux")
    assert result.metrics["delivered_bytes"] > 0
    console = (tmp_path / "run-0" / "console.log").read_text("utf-8", errors="replace")
    assert "kmemleak: scanned" in console
    assert not reports(console), reports(console)[0]
