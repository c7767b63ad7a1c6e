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

NETWORKS = {
    "loss": """
duration = "4s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "1MB"
[[path]]
name = "short"
rate = "8Mbit"
rtt = "20ms"
queue = "50p"
loss = "2%"
[[path]]
name = "long"
rate = "4Mbit"
rtt = "80ms"
queue = "50p"
loss = "1%"
""",
    "outage": """
duration = "8s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "1MB"
[[path]]
name = "short"
rate = "8Mbit"
rtt = "20ms"
queue = "50p"
outages = [{ from = "1s", to = "4s" }]
[[path]]
name = "long"
rate = "4Mbit"
rtt = "80ms"
queue = "50p"
""",
    "small-window": """
duration = "4s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "64kB"
[[path]]
name = "short"
rate = "8Mbit"
rtt = "20ms"
queue = "50p"
[[path]]
name = "long"
rate = "2Mbit"
rtt = "200ms"
queue = "50p"
""",
    "file": """
duration = "20s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "256kB"
[workload]
kind = "file"
size = "300kB"
[[path]]
name = "short"
rate = "8Mbit"
rtt = "20ms"
queue = "50p"
loss = "1%"
[[path]]
name = "long"
rate = "4Mbit"
rtt = "80ms"
queue = "50p"
""",
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
