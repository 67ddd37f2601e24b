# SPDX-License-Identifier: Apache-2.0
"""Run the lab on this kernel, in real time, and clear up after a crashed lab."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from hoplab.guest.system.note import NETNS_DIRECTORY, NOTES, inode, start_time
from hoplab.model.errors import MissingTool
from hoplab.model.resources import PROJECT

TERM_GRACE_S = 2.0


def run_lab(
    out: Path, on_line: Callable[[str], None], environment: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Run the lab in ``out`` as a separate process, with ``environment`` beside this process's.
    Returns its exit status.

    Raises `MissingTool` without root.
    """
    _require_root()
    process = subprocess.Popen(
        lab_command(out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=PROJECT,
        env={**os.environ, **environment},
        text=True,
        # A Ctrl-C goes to this process, which passes it to the lab. If both got it at once, the lab
        # would end half-way.
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            on_line(line)
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def lab_command(out: Path) -> list[str]:
    """Return the command of the lab on this kernel, with ``out`` for its records."""
    return [sys.executable, "-I", "-m", "hoplab.guest.lab", str(out.resolve()), "--real-time"]


def shell(
    folder: Path,
    line: int | None = None,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Run `hoplab.guest.lab.prompt` on this kernel, with a socket for a session's ``line``. Returns
    its exit status."""
    _require_root()
    command = [
        sys.executable,
        "-I",
        "-m",
        "hoplab.guest.lab.prompt",
        str(folder.resolve()),
        *arguments,
    ]
    values = {**os.environ, **environment}
    if line is None:
        return subprocess.call(command, env=values)
    return subprocess.call([*command, "--line", f"fd:{line}"], pass_fds=(line,), env=values)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise MissingTool(
            "--machine host: needs root for namespaces and radios; use sudo, or --machine uml"
        )


def clean() -> list[str]:
    """Remove only what crashed runs left. Returns a line for each thing removed."""
    from pyroute2 import netns  # no run needs it here

    removed = []
    for path in sorted(NOTES.glob("*.json")) if NOTES.is_dir() else []:
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            note = {"started": None, "namespaces": {}, "adopted": {}, "group": None}
        pid = int(path.stem)
        if note["started"] is not None and start_time(pid) == note["started"]:
            continue  # that run is still in progress
        for process in _members(set(note["namespaces"].values()) - {None}, note["group"]):
            _end(process)
            removed.append(f"process {process}")
        # A namespace of others keeps the processes that they have in it.
        for name, number in (note["namespaces"] | note["adopted"]).items():
            # A namespace that was made later under this name has another inode.
            if inode(NETNS_DIRECTORY / name) == number:
                netns.remove(name)
                removed.append(f"namespace {name}")
        for group in _groups(note["group"]):
            group.rmdir()
            removed.append(f"control group {group}")
        for folder in sorted(NOTES.glob(f"{pid}-*/")):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(f"folder {folder}")
        path.unlink()
    return removed


def _groups(group: str | None) -> list[Path]:
    """Return the control groups of a run that exist, each before the one that it is in."""
    if group is None:
        return []
    routing = Path(f"{group}-routing")  # hoplab.guest.probes.overhead.groups
    return [one for one in (*routing.glob("*/"), routing, Path(group)) if one.is_dir()]


def _members(namespaces: set[int], group: str | None) -> Iterator[int]:
    """Yield the processes inside the namespaces or the control group."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        if inode(path) in namespaces:
            found.add(int(path.parts[2]))
    if group is not None:
        with contextlib.suppress(OSError):
            text = (Path(group) / "cgroup.procs").read_text(encoding="ascii")
            found |= {int(word) for word in text.split()}
    yield from sorted(found - {os.getpid()})


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + TERM_GRACE_S
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
