# SPDX-License-Identifier: Apache-2.0
"""The one folder of a server for agents, and what an agent may ask of it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.front.mininet.movement import walk
from hoplab.host.machine import confined
from hoplab.host.results import reader
from hoplab.many.sweep.points import Sweep
from hoplab.model import writing
from hoplab.model.errors import HoplabError, ResultsError, ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
RUNS, SWEEPS = "runs", "sweeps"
FILES = ("movement", "snr_trace", "trace")
"""Keys that name a file, in any table."""
LARGEST_TEXT = 1 << 20
"""Octets of a scenario that an agent sends."""


@dataclass(frozen=True)
class Limits:
    """What one call may take, and all of them together leave behind."""

    virtual_s: float = 600.0
    wall_s: float = 300.0
    stations: int = 200
    sweep_runs: int = 50
    folder_mb: int = 2000
    rows: int = 500


class TooMuch(HoplabError):
    """What an agent asked is over a limit of its server."""

    exit_status = 2


@dataclass(frozen=True)
class Place:
    """A folder. Nothing outside it is named by an agent."""

    folder: Path
    limits: Limits = Limits()

    def scenario(self, given: str, overrides: list[str]) -> tuple[Path, Resolved]:
        """Return the file of a scenario, and the scenario. ``given`` is a file's name in the
        folder, or the whole text, which is written there.

        Raises `ScenarioError` with all of its mistakes, and `TooMuch` for one over a limit.
        """
        path = self._file(given)
        document = file.read(path)
        for one in overrides:
            file.override(document, one)
        return path, self.allowed(document, path)

    def allowed(self, document: dict[str, Any], path: Path) -> Resolved:
        """Return the scenario of a document, whose files are in the folder."""
        given = {name: table for name, table in document.items() if isinstance(table, dict)}
        for name in _files(document):
            self.inside(name)
        if given.get("machine", {}).keys() & {"packages", "python"}:
            raise TooMuch("machine: packages come from the network, which is the user's to allow")
        scenario = resolve(file.parse(document, str(path)), self.folder, walk)
        self._within(scenario)
        return scenario

    def sweep(self, sweep: Sweep) -> None:
        """Raise `TooMuch` if a sweep has too many runs, or one of its runs is over a limit."""
        runs = sweep.count()
        if runs > self.limits.sweep_runs:
            raise TooMuch(
                f"sweep: {runs} runs, at most {self.limits.sweep_runs}; take fewer values or seeds"
            )
        for point in sweep.points():
            self.allowed(dict(point.document), self.folder)

    def run(self, name: str) -> reader.Results:
        """Return a finished run of the folder."""
        return reader.load(self.new(name, RUNS, there=True))

    def runs(self) -> list[str]:
        """Return the names of all runs, the newest last."""
        try:
            found = list(os.scandir(self.folder / RUNS))
        except FileNotFoundError:
            return []
        known = [one for one in found if NAME.fullmatch(one.name) and one.is_dir()]
        return [one.name for one in sorted(known, key=lambda one: one.stat().st_mtime)]

    def new(self, name: str, below: str = RUNS, there: bool = False) -> Path:
        """Return the folder of a run's or a sweep's name, which must be ``there`` or free."""
        if not NAME.fullmatch(name):
            raise ResultsError(f"{name[:64]!r}: is no name; use letters, digits, - and _")
        path = self.folder / below / name
        self.inside(f"{below}/{name}")
        if path.exists() is not there:
            state = f"none of: {', '.join(self.runs()) or 'no runs'}" if there else "taken"
            raise ResultsError(f"{name!r}: is {state}")
        return path

    def inside(self, name: str) -> Path:
        """Return a path in the folder. Raises `ScenarioError` for one that leads out of it."""
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ScenarioError(f"{name!r}: leads out of the folder; name a file in it")
        return path

    def written(self, stem: str, text: str) -> Path:
        """Write a text to the folder, under a name of its hash."""
        if len(text.encode(errors="surrogatepass")) > LARGEST_TEXT:
            raise TooMuch(f"{stem}: is larger than {LARGEST_TEXT >> 10} KiB; shorten it")
        digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
        path = self.folder / f"{stem}-{digest}.toml"
        try:
            writing.write_text(path, text.encode(errors="replace").decode())
        except OSError as error:
            raise ResultsError(f"{path}: cannot be written: {error.strerror}") from None
        return path

    def require_room(self) -> None:
        """Raise `TooMuch` if the folder has no room left for another run."""
        octets = sum(_sizes(self.folder))
        if octets >> 20 >= self.limits.folder_mb:
            raise TooMuch(
                f"{self.folder}: holds {octets >> 20} MB, at most {self.limits.folder_mb}; ask the "
                "user to remove runs"
            )

    def _file(self, given: str) -> Path:
        if "\n" in given or "=" in given:
            return self.written("scenario", given)
        return self.inside(given)

    def _within(self, scenario: Resolved) -> None:
        if scenario.duration_s + (scenario.warm_up_s or 0.0) > self.limits.virtual_s:
            raise TooMuch(
                f"duration_s: {scenario.duration_s:g} with its warm-up, at most "
                f"{self.limits.virtual_s:g}; take less"
            )
        if len(scenario.station) > self.limits.stations:
            raise TooMuch(
                f"station: {len(scenario.station)}, at most {self.limits.stations}; take fewer"
            )
        if scenario.program and confined.confinement() == "none":
            raise TooMuch("program: nothing confines a guest here ('hoplab doctor'); leave it out")


def _files(written: object) -> Iterator[str]:
    """Yield the files that a scenario names. A branch names keys by their paths."""
    if isinstance(written, list):
        for one in written:
            yield from _files(one)
    elif isinstance(written, dict):
        for key, value in written.items():
            if isinstance(value, str) and key.rpartition(".")[2] in FILES:
                yield value
            else:
                yield from _files(value)


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield (Path(place) / name).lstat().st_size
            except OSError:  # it has just been removed
                continue
