# SPDX-License-Identifier: Apache-2.0
"""The package's rooms: a module imports only from its own room and from those above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from hoplab.model.resources import PACKAGE

FLOORS = (
    ("errors", "helping", "resources", "signals", "terminal"),
    ("reading", "serving"),
    ("mininet_wifi", "processes", "records"),
    ("scenario",),
    ("network",),
    ("tcp", "medium", "routing", "traffic", "probes"),
    ("lab",),
    ("machine",),
    ("results",),
    ("stream",),
    ("runs",),
    ("report",),
    ("store",),
    ("sweep",),
    ("study",),
    ("live", "mininet"),
    ("prompt", "doctor"),
    ("api",),
    ("testing",),
    ("cli",),
    ("__main__",),
)
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}


def imported(path: Path) -> Iterator[str]:
    """Rooms of this package that a module takes something from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "hoplab":
            names = [f"hoplab.{alias.name}" for alias in node.names if alias.name in FLOOR]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("hoplab."))


def test_every_import_goes_up() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in FLOOR, f"{room}: give it a floor in this file and in docs/architecture.md"
        for other in imported(path):
            if other != room and FLOOR[other] >= FLOOR[room]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {other}")
    assert not wrong
