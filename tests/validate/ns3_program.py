# SPDX-License-Identifier: Apache-2.0
"""Programs of `tests/ns3`, built where needed, and the rows that they gave."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoplab.model.errors import HoplabError, MissingTool
from hoplab.model.resources import PROJECT
from tests.validate import recorded

FOLDER = PROJECT / "tests" / "ns3"


@dataclass(frozen=True)
class Program:
    """``NAME.cc``, whose runs are recorded in ``recorded/NAME.tsv``."""

    name: str
    modules: tuple[str, ...]
    """Of ns-3, to link."""
    _building: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def rows(self, columns: Sequence[str], options: Sequence[str]) -> list[recorded.Row]:
        """A row for each of ``options``, by the table or by ns-3 itself. It has the last word of
        each line that the program prints, a column a line, and 0 for columns without one.

        Raises `MissingTool` where a row, and ns-3's headers or a compiler, are missing,
        `HoplabError` where the program fails.
        """

        def run(one: str) -> recorded.Row:
            return self.figures(recorded.words(one), len(columns))

        return recorded.rows(self.name, columns, options, run, FOLDER / "recorded", recorded.NS3)

    def figures(self, options: Mapping[str, str], count: int) -> recorded.Row:
        """The last words of the first ``count`` lines of a run; 0 for missing lines.

        Raises as `rows`.
        """
        found = [float(line.split()[-1]) for line in self._printed(options)]
        return tuple((found + [0.0] * count)[:count])

    def _printed(self, options: Mapping[str, str]) -> list[str]:
        with self._building:
            program = self._build()
        words = [f"--{key}={value}" for key, value in options.items()]
        done = subprocess.run([str(program), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HoplabError(f"{program} {' '.join(words)}: fails with status {done.returncode}")
        return done.stdout.splitlines()

    def _build(self) -> Path:
        source = FOLDER / f"{self.name}.cc"
        program = PROJECT / "build" / f"ns3-{self.name}"
        newest = max(path.stat().st_mtime for path in (source, *FOLDER.glob("*.h")))
        if program.exists() and program.stat().st_mtime > newest:
            return program
        if shutil.which("g++") is None or not Path("/usr/include/ns3/wifi-module.h").exists():
            raise MissingTool("ns-3: is not installed; Debian has it in the package libns3-dev")
        program.parent.mkdir(exist_ok=True)
        words = ["g++", "-O2", "-std=c++17", str(source), "-o", str(program)]
        words += [f"-lns3-{name}" for name in self.modules]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HoplabError(f"{' '.join(words)}: fails with status {done.returncode}; run it")
        return program
