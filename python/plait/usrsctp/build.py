"""Builds the program once, into the cache: source, patches, compilation."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from plait._core import RunError
from plait.linux import tools
from plait.linux.programs import install, run_program, sha256
from plait.usrsctp import archive
from plait.usrsctp.program import NAME, SOURCE, cache, folder, patches

TO_BUILD: tools.Packages = {
    name: tools.TO_BUILD[name] for name in ("gcc", tools.HEADERS, "ar", "make", "patch", "tar")
}


def build(*, source: Path | None = None, force: bool = False, say: tools.Say) -> Path:
    """Build the program unless it exists, and return it.

    Args:
        source: the archive of this version of usrsctp. Default: fetch Debian's.
        force: build even if the program exists.
        say: callback for the message of each step.

    Raises:
        RunError: programs are missing, the archive is another one, or a step failed; the message
            has the last lines of its output.
    """
    target = folder()
    if not force and (target / NAME).is_file():
        return target / NAME
    install(TO_BUILD, say)
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache()) as name:
        work = Path(name)
        tarball = archive.fetch(work, say) if source is None else source
        found = sha256(tarball)
        if found != archive.SHA256:
            message = f"{tarball}: its SHA-256 is {found} and not that of {archive.FILE}, {archive.SHA256}"
            raise RunError(message)
        say(f"patching usrsctp {archive.VERSION}")
        tree, output = work / "tree", work / "output"
        tree.mkdir()
        run_program(["tar", "-xf", str(tarball.resolve()), "--strip-components=1", "-C", str(tree)])
        for file in patches():
            run_program(["patch", "-p1", "--forward", "--fuzz=0", "-i", str(file.resolve())], cwd=tree)
        say("compiling: a minute")
        jobs = f"-j{os.cpu_count() or 1}"
        run_program(["make", "-C", str(SOURCE.resolve()), jobs, f"STACK={tree}", f"OUTPUT={output}"])
        target.mkdir(parents=True, exist_ok=True)
        finished = target / f"{NAME}.part"
        shutil.copyfile(output / NAME, finished)
        finished.chmod(0o755)
        finished.replace(target / NAME)
    return target / NAME
