"""The source archive of usrsctp, identified by its hash, and its locations.

Another source gives another stack, and possibly other results. So the archive must have this exact
content, from any location.
"""

from __future__ import annotations

from pathlib import Path

from plait.linux import programs, tools

VERSION = "0.9.5.0"
"""Version of usrsctp."""
FILE = f"libusrsctp_{VERSION}.orig.tar.gz"
"""Archive of Debian's source package. Debian's own patches concern only the installation."""
SHA256 = "260107caf318650a57a8caa593550e39bca6943e93f970c80d6c17e59d62cd92"
SHA1 = "a71e5ff2276a9fa47edb843cbbb9fb7d138a5f19"
"""File name at snapshot.debian.org. It serves as an address only: the SHA-256 decides about
trust."""
PLACES = (
    f"https://deb.debian.org/debian/pool/main/libu/libusrsctp/{FILE}",
    f"https://snapshot.debian.org/file/{SHA1}",
)
"""Download locations, in the order of attempts. The last location keeps old versions."""


def fetch(folder: Path, say: tools.Say) -> Path:
    """Fetch the archive into `folder`.

    Raises:
        RunError: no location has it; the message has the reason of each.
    """
    return programs.fetch(
        folder / FILE,
        SHA256,
        PLACES,
        title=f"the source of usrsctp {VERSION}",
        size="0.8 MB",
        say=say,
        otherwise=f"fetch {FILE} elsewhere and give it: plait usrsctp build --source {FILE}",
    )
