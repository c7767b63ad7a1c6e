"""What a kernel that watches itself (linux/debug.config) says of memory that nobody holds any more."""

from __future__ import annotations

import gc
import time
from pathlib import Path

KMEMLEAK = Path("/sys/kernel/debug/kmemleak")
AGE_SECONDS = 10
"""Memory younger than five seconds is never called lost (mm/kmemleak.c)."""


def look() -> None:
    """Print what is lost to the console, if the kernel knows."""
    if not KMEMLEAK.exists():
        return
    gc.collect()
    # What was found once may still be on its way into a list: twice is sure.
    for _ in range(2):
        time.sleep(AGE_SECONDS)
        KMEMLEAK.write_text("scan", encoding="ascii")
    lost = KMEMLEAK.read_text(encoding="ascii", errors="replace")
    print(f"kmemleak: scanned\n{lost}", flush=True)  # noqa: T201 - the console
