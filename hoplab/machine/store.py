# SPDX-License-Identifier: Apache-2.0
"""Where this user's machines lie, by identity: ``~/.cache/hoplab/machines``."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hoplab.errors import MissingTool, ResultsError
from hoplab.machine import sealed
from hoplab.machine.sealed import DESCRIPTION, Machine


def cache() -> Path:
    """The user's cache; `HOPLAB_CACHE` moves it, without a home it is a temporary folder."""
    for variable, below in (("HOPLAB_CACHE", ""), ("XDG_CACHE_HOME", "hoplab")):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / below
    home = os.environ.get("HOME")
    if home and Path(home).is_dir():
        return Path(home) / ".cache" / "hoplab"
    return Path(tempfile.gettempdir()) / f"hoplab-cache-{os.getuid()}"


def folder() -> Path:
    return cache() / "machines"


def stamps() -> Path:
    """Where `sealed.check` remembers what it has read."""
    return cache() / "checked"


def machines() -> list[Machine]:
    """Every machine here, the newest first."""
    found = []
    for path in sorted(folder().glob("*/" + DESCRIPTION), key=_date, reverse=True):
        with contextlib.suppress(MissingTool):
            found.append(sealed.load(path.parent))
    return found


def _date(path: Path) -> int:
    return path.stat().st_mtime_ns


def find(name: str) -> Machine:
    """The machine whose identity begins with ``name``, or in the folder ``name``."""
    path = Path(name)
    if (path / DESCRIPTION).is_file():
        return sealed.load(path)
    found = [machine for machine in machines() if machine.id.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    problem = "fits several machines" if found else "is no machine here"
    raise MissingTool(f"{name}: {problem}; 'hoplab machine list' shows them")


@contextlib.contextmanager
def writing_to(place: Path, variable: str = "HOPLAB_CACHE") -> Iterator[None]:
    """Turn what the system says of a full disk or a missing right into `ResultsError`."""
    try:
        yield
    except OSError as error:
        raise ResultsError(
            f"{place}: cannot be written: {error.strerror or error}; make room there, or let "
            f"{variable} name another folder"
        ) from None


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """An empty folder on the store's file system, which goes unless it is moved."""
    with writing_to(folder()):
        folder().mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=folder(), prefix="new-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def adopt(path: Path, description: Mapping[str, Any]) -> Machine:
    """Make the complete folder ``path`` of the store a machine of it."""
    identity = sealed.identity(description)
    target = folder() / identity
    (path / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    path.chmod(0o755)
    if not (target / DESCRIPTION).is_file():
        # Two that made it at once made the same.
        with contextlib.suppress(OSError):
            path.rename(target)
    return sealed.load(target)
