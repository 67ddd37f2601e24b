# SPDX-License-Identifier: Apache-2.0
"""A study's folder: its contents, and its analysis as a module."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hoplab.many.study.findings import Analysis
from hoplab.model.errors import ScenarioError
from hoplab.model.reading import MAX_BYTES, content, read_text
from hoplab.model.resources import EXPERIMENTS

ANALYSIS = "analysis.py"
PUBLISHED = "published.toml"
NS2 = "ns2.toml"
EXPECTED = "expected.json"


@dataclass(frozen=True)
class Study:
    """``experiments/NAME``, or any other folder of that shape."""

    name: str
    folder: Path

    def sweeps(self, quick: bool) -> dict[str, Path]:
        """Return sweep files by part: ``sweep.toml`` is part "", ``sweep-rates.toml`` "rates".

        The quick version's are ``quick.toml``, ``quick-rates.toml``. A part may lack one.
        """
        stem = "quick" if quick else "sweep"
        files = [self.folder / f"{stem}.toml", *sorted(self.folder.glob(f"{stem}-*.toml"))]
        found = {path.stem.partition("-")[2]: path for path in files if path.exists()}
        if not found:
            raise ScenarioError(f"{self.folder}: has no {stem}.toml; a study needs one")
        return found

    def published(self) -> dict[str, Any]:
        """Return the authors' values, and under "ns2" those of ns-2.35 from ``ns2.toml``."""
        published = _toml(self.folder / PUBLISHED)
        ns2 = _toml(self.folder / NS2)
        return {**published, "ns2": ns2} if ns2 else published

    def analysis(self) -> Analysis:
        """Import the folder's analysis, which may import its neighbours:
        ``from . import model``."""
        path = self.folder / ANALYSIS
        name = f"hoplab_study_{self.name.replace('-', '_')}"
        places = [str(self.folder)]
        spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=places)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        if not callable(getattr(module, "analyse", None)):
            raise ScenarioError(f"{path}: has no function analyse; docs/studies says what it does")
        return cast(Analysis, module)

    def sentence(self) -> str:
        """Return the first line of its analysis's docstring."""
        text = read_text(self.folder / ANALYSIS, MAX_BYTES, "a study's folder")
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]

    @property
    def expected(self) -> Path:
        return self.folder / EXPECTED


def _toml(path: Path) -> dict[str, Any]:
    """Return the file's contents, empty if there is no such file."""
    if not path.exists():
        return {}
    try:
        return tomllib.loads(content(path).decode())
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{path}: cannot be read: {error}") from None


def names() -> list[str]:
    """Return the names of all studies."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob(f"*/{ANALYSIS}"))


def find(name: str) -> Study:
    """Return the study ``name``, or the study in the folder ``name``. Raises `ScenarioError`."""
    for folder in (EXPERIMENTS / name, Path(name)):
        if (folder / ANALYSIS).is_file():
            return Study(folder.resolve().name, folder)
    known = names()
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ScenarioError(
        f"study: {name!r} is not known{hint}; one of: {', '.join(known)}, or a folder with "
        f"{ANALYSIS}"
    )
