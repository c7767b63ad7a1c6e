"""Programs at both ends of the links of `plait link`, for the measurements beside this file."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ends import Lines, content, recv_words, same, send

PLAIT = [sys.executable, "-m", "plait", "--quiet", "link"]


def over_links(
    scenario: str,
    task: dict[str, Any],
    folder: Path,
    *more: str,
    server: str | None = None,
) -> list[dict[str, Any]]:
    """Run this program in `plait link`, with a receiver or `server` at the far end. Return its output."""
    place = folder / "links.toml"
    place.write_text(scenario)
    if server is None:
        words = shlex.join(recv_words(task["program"], folder / "out", "0.0.0.0:4433", "--mtu", task["mtu"]))
        server = f"echo $$ > {folder}/recv.pid; exec {words} > {folder}/recv.json"
    told = folder / "task.json"
    told.write_text(json.dumps({**task, "folder": str(folder)}))
    near = [sys.executable, str(Path(sys.argv[0]).resolve()), "--near", str(told)]
    command = [*PLAIT, *more, "--server", server, str(place), "--", *near]
    came = []
    with (folder / "errors").open("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                came.append(json.loads(line))
        if process.returncode:
            errors.seek(0)
            sys.exit(f"plait link ended with {process.returncode}: {errors.read().strip()}")
    if not came:
        sys.exit(f"{told}: nothing was said")
    return came


class Near:
    """The program at the near end of the links."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.begun = time.monotonic()
        self.task = task
        self.folder = Path(task["folder"])
        self.out = self.folder / "out"
        self.unheard: list[Path] = []
        self._lines: Lines | None = None

    @property
    def lines(self) -> Lines:
        """The output of the receiver."""
        if self._lines is None:
            self._lines = Lines((self.folder / "recv.json").open(), patience=2)
        return self._lines

    def transfer(self, megabytes: float, *more: str) -> dict[str, Any]:
        """Send a file. Return the results of both ends, and whether the files are the same."""
        file = content(self.folder, megabytes)
        begin = time.monotonic() - self.begun
        came: dict[str, Any] = {"begin": begin}
        try:
            sent = send(
                self.task["program"],
                self.lines.hello,
                file,
                os.environ["PLAIT_PEER"],
                "--mtu",
                self.task["mtu"],
                *more,
                timeout=7200,
            )
            # The transfer began after the file was hashed, and has just ended.
            came |= {
                "begin": time.monotonic() - self.begun - sent["seconds"],
                "seconds": sent["seconds"],
                "goodput": sent["goodput_bps"],
                "same": same(file, self.out / file.name),
                "bytes": [path["bytes"] for path in sent["paths"]],
                "retransmissions": sent["retransmissions"],
                "reinjections": sent["reinjections"],
            }
            came["gap"] = self.lines.of(file)["longest_gap_s"]
        except RuntimeError as error:
            came |= {"same": False, "error": str(error)}
        except TimeoutError:
            self.unheard.append(file)
        except KeyError:
            came |= {"same": False, "error": str(self.lines.of(file))}
        finally:
            for leftover in (file, self.out / file.name):
                leftover.unlink(missing_ok=True)
        return came

    def late(self) -> list[str]:
        """Return the final events of files without one so far, because the last packet was lost."""
        said = []
        for file in self.unheard:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    said.append(self.lines.of(file)["event"])
                    break
                except TimeoutError:
                    continue
            else:
                said.append("nothing")
        return said


def say(**what: Any) -> None:
    rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in what.items()}
    print(json.dumps(rounded), flush=True)
