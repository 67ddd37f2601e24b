# SPDX-License-Identifier: Apache-2.0
"""Start a guest with a script for Mininet-WiFi, and read the records of its medium."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.front.mininet import measured, recording
from hoplab.front.mininet.found import Found
from hoplab.guest.mininet.surroundings import INSIDE
from hoplab.host.machine import store
from hoplab.host.machine.guests import Boot, OpenGuest
from hoplab.host.machine.uml import Streams, refuse_input, run_guest
from hoplab.host.machine.watch import Limits
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs import folder
from hoplab.model import reading
from hoplab.model.errors import MissingTool, ResultsError, ScenarioError
from hoplab.model.resources import BINARIES, PROJECT

PROGRAM = "hoplab-wmediumd"
"""The program that a script of Mininet-WiFi starts as wmediumd."""
RECORDS = "medium"
"""Folder of the medium's records in a script's output."""
ACCOUNT = "medium.json"
PACKAGES = Path("/run/hoplab/python")
"""Folder in a guest where a script finds Hoplab."""
AT_HOPLAB = Path("/hoplab")
"""Folder of the project in a guest."""
REFUSED = "refused.txt"
"""The requests that the kernel refused to the script, a line each; `inside/bin/iw` writes it."""
MOST_REFUSED = 1 << 16
PIECE_BYTES = 1 << 20
MEDIA = ("always", "as-written")
OWN = (Path("/tmp"), Path("/run"), Path("/dev/shm"))
"""Folders that belong to the guest, not to the host."""


@dataclass(frozen=True)
class ScriptRequest:
    """A script to run in a guest, with its medium, its clock and its seed."""

    script: Path
    arguments: Sequence[str] = ()
    medium: str = "always"
    realtime: bool = False
    seed: int = 1


def run(
    found: Found, request: ScriptRequest, out: Path, warn_stalled: Callable[[str], None]
) -> int:
    """Run the script and return its status. ``out`` is a new folder for records."""
    _require(request)
    script, realtime = request.script.absolute(), request.realtime
    if script.parent in OWN:
        raise ScenarioError(
            f"{script}: is directly in {script.parent}, of which a guest has its "
            "own; put it into a folder"
        )
    fonts = _fonts(found.python)
    tree = [] if found.tree is None else [found.tree]
    values = _environment(request, tree, fonts)
    start = AT_HOPLAB / (INSIDE / "start.py").relative_to(PROJECT)
    _new(out)
    return run_guest(
        OpenGuest(out, cwd=str(Path.cwd()), folders=[script.parent, fonts, *tree]),
        [
            *("env", *(f"{key}={value}" for key, value in values.items())),
            *("/usr/bin/python3", "-I", str(start), found.python, str(script)),
            *request.arguments,
        ],
        Boot(seed=request.seed, virtual=not realtime),
        Streams(
            stdin=sys.stdin.fileno(),
            terminal=realtime and sys.stdin.isatty() and sys.stdout.isatty(),
        ),
        Limits(tell=None if realtime else warn_stalled),
    ).exit_status


def _require(request: ScriptRequest) -> None:
    if request.medium not in MEDIA:
        one_of = ", ".join(MEDIA)
        raise ScenarioError(f"--medium: {request.medium!r} is not known; one of: {one_of}")
    if not request.script.is_file():
        raise ScenarioError(f"{request.script}: there is no such script")
    if not (BINARIES / PROGRAM).exists():
        raise MissingTool(f"{BINARIES}/{PROGRAM} is not there; run 'make setup'")
    if not request.realtime:
        refuse_input()


def _environment(request: ScriptRequest, tree: list[Path], fonts: Path) -> dict[str, str]:
    """Return the environment of the script's interpreter in the guest."""
    path = [AT_HOPLAB / (INSIDE / "site").relative_to(PROJECT), PACKAGES, *tree]
    return {
        "PYTHONPATH": ":".join(map(str, path)),
        "HOPLAB_MEDIUM": request.medium,
        "HOPLAB_MEDIUM_PROGRAM": str(AT_HOPLAB / (BINARIES / PROGRAM).relative_to(PROJECT)),
        "HOPLAB_MEDIUM_RECORDS": f"/out/{RECORDS}",
        recording.OUT: "/out",
        "HOPLAB_REFUSED": f"/out/{REFUSED}",
        **({} if request.realtime else {recording.VIRTUAL: "1"}),
        "MPLBACKEND": "Agg",
        "HOPLAB_FONTS": str(fonts),
        "MPLCONFIGDIR": "/run/hoplab/matplotlib",
        # Hoplab's own interpreter comes first in a guest, and has none of this.
        "PATH": "/run/hoplab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }


def account(out: Path) -> dict[str, Any] | None:
    """Return the medium's account of itself, or None if the script used no medium."""
    try:
        told: dict[str, Any] = json.loads(reading.content(out / RECORDS / ACCOUNT))
    except OSError:
        return None
    except ValueError:
        raise ResultsError(f"{out / RECORDS / ACCOUNT}: was cut off; is the disk full?") from None
    return told


def doubts(account: Mapping[str, Any]) -> list[str]:
    """Return what the medium's account warns of."""
    found = list(account["doubts"])
    if not account["frames"]["accepted"]:
        found.append(
            "no station sent a frame; is each up ('ip link'), and in a network ('iw dev')?"
        )
    return found


def refused(out: Path) -> list[str]:
    """Return the requests that the kernel refused to the script, each once."""
    try:
        with reading.opened(out / REFUSED) as file:
            text = file.read(MOST_REFUSED).decode("utf-8", "replace")
            return list(dict.fromkeys(text.splitlines()))
    except OSError:
        return []


def complete(out: Path) -> dict[Path, Manifest]:
    """Make tables and a report of every recording in ``out``. Returns their manifests by folder."""
    medium = out / RECORDS
    return {run: measured.complete(run, medium, None) for run in measured.recordings(out)}


def keep(out: Path, script: Path) -> Path:
    """Move results without a named folder to a new folder."""
    where = folder.made(None, script)
    for entry in out.iterdir():
        shutil.move(entry, where / entry.name)
    return where


def digest(out: Path) -> str:
    """Return SHA-256 over the names and the contents of the medium's records."""
    sha = hashlib.sha256()
    for path in sorted((out / RECORDS).iterdir()):
        with reading.opened(path) as file:
            sha.update(f"{path.name} {os.fstat(file.fileno()).st_size}\n".encode())
            while piece := file.read(PIECE_BYTES):
                sha.update(piece)
    return sha.hexdigest()


def passing() -> Path:
    """Return a folder for a script whose records were not requested; the caller removes it."""
    return Path(tempfile.mkdtemp(prefix="hoplab-mininet-"))


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _fonts(python: str) -> Path:
    """Return a folder with matplotlib's list of fonts, which it would otherwise make again in a
    second. The folder is empty if this interpreter has no matplotlib."""
    fonts = store.cache() / "fonts" / hashlib.sha256(python.encode()).hexdigest()[:16]
    if not fonts.exists():
        with store.new_folder() as made:
            subprocess.run(
                [python, "-c", "import matplotlib.font_manager"],
                env={**os.environ, "MPLCONFIGDIR": str(made)},
                capture_output=True,
                check=False,
            )
            made.chmod(0o755)
            fonts.parent.mkdir(exist_ok=True)
            with contextlib.suppress(OSError):  # another process has made it meanwhile
                made.rename(fonts)
    return fonts


def _new(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise ResultsError(f"{out}: is not empty; name a new folder")
    except OSError as error:
        raise ResultsError(f"{out}: {error.strerror}") from None
