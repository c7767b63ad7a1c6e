"""Firefox without a window, driven by Marionette, its own protocol: JSON over TCP.

Playwright drives only a Firefox of its own.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")
PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.proxy.type": 0,
}
KEYS = {"ArrowRight": "\ue014"}


class Firefox:
    """A session with one window."""

    def __init__(self, connection: socket.socket) -> None:
        """Opens a session on a connection to Marionette."""
        self._stream = connection.makefile("rwb")
        self._count = 0
        self._read()
        self.command("WebDriver:NewSession", {"capabilities": {}})
        self.command("WebDriver:SetTimeouts", {"script": 120_000})

    def _read(self) -> Any:
        size = b""
        while (one := self._stream.read(1)) != b":":
            if not one:
                raise ConnectionError("Firefox closed the connection")
            size += one
        return json.loads(self._stream.read(int(size)))

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """Sends a command and returns its result."""
        self._count += 1
        text = json.dumps([0, self._count, name, parameters]).encode()
        self._stream.write(b"%d:%s" % (len(text), text))
        self._stream.flush()
        _, _, error, result = self._read()
        if error:
            raise AssertionError(f"{name}: {error['message']}")
        return result

    def goto(self, address: str) -> None:
        """Opens an address and waits until it is loaded."""
        self.command("WebDriver:Navigate", {"url": address})

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """Returns the result of a function. A promise is awaited."""
        script = f"const [argument, done] = arguments; Promise.resolve(({function})(argument)).then(done);"
        sent = {"script": script, "args": [argument], "newSandbox": False, "sandbox": None}
        return self.command("WebDriver:ExecuteAsyncScript", sent)["value"]

    def wait_for(self, expression: str) -> None:
        """Waits until an expression is true."""
        polled = "new Promise((done) => { const look = () => ({}) ? done() : setTimeout(look, 20); look(); })"
        self.evaluate("() => " + polled.replace("({})", f"({expression})"))

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for kind in ("keyDown", "keyUp")]
        sequence = {"type": "key", "id": "keyboard", "actions": actions}
        self.command("WebDriver:PerformActions", {"actions": [sequence]})

    def screenshot(self, file: Path) -> None:
        """Writes a picture of the whole page."""
        taken = self.command("WebDriver:TakeScreenshot", {"full": True, "hash": False})
        file.write_bytes(b64decode(taken["value"]))

    def resize(self, width: int, height: int) -> None:
        """Resizes the window; browsers have a least width."""
        self.command("WebDriver:SetWindowRect", {"width": width, "height": height})


@contextmanager
def started(**more: Any) -> Iterator[Firefox]:
    """Starts Firefox with a new profile and more preferences; ends it at the end."""
    assert PROGRAM is not None
    with tempfile.TemporaryDirectory(prefix="firefox-") as name:
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in {**PREFERENCES, **more}.items()]
        Path(name, "user.js").write_text("\n".join(lines), encoding="utf-8")
        command = [PROGRAM, "--headless", "--marionette", "--no-remote", "--profile", name]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                with socket.create_connection(("127.0.0.1", _port(Path(name), process))) as connection:
                    yield Firefox(connection)
            finally:
                process.terminate()


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    """Returns the port, which Firefox writes into its profile."""
    file = profile / "MarionetteActivePort"
    while not (file.is_file() and file.read_text(encoding="utf-8").strip()):
        assert process.poll() is None, "Firefox ended at its start"
        time.sleep(0.05)
    return int(file.read_text(encoding="utf-8"))
