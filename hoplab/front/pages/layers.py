# SPDX-License-Identifier: Apache-2.0
"""The imports between the package's folders: ``python -m hoplab.front.pages.layers``.

It prints the levels of the graph, its circles and its upward imports. It also updates the table of
`docs/architecture.md`.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePath

from hoplab.model.layers import LAYERS
from hoplab.model.resources import PACKAGE, PROJECT

PAGE = PROJECT / "docs" / "architecture.md"
BEGIN, END = "<!-- layers -->\n", "<!-- end of layers -->\n"
ORDER = [folder.name for layer in LAYERS for folder in layer.folders]
"""Every folder, from the bottom up."""
OTHERS_PROGRAMS = "inside"
"""Folder of programs for another interpreter, which import nothing of the package."""

Graph = Mapping[str, Mapping[str, list[str]]]


def modules() -> dict[str, Path]:
    """Return every module of the package, by its name without the package's. Modules that only make
    a top folder a package are left out."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        bare = len(parts) == 2 and parts[1] == "__init__"
        if len(parts) > 1 and not bare and OTHERS_PROGRAMS not in parts:
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def folder_of(path: PurePath) -> str:
    """Return the folder of a module's file, two deep at most."""
    return ".".join(path.relative_to(PACKAGE).parent.parts[:2])


def imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the package's modules that a file imports anywhere, except imports for type
    checkers."""
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            inner = name.removeprefix("hoplab.")
            if inner != name:
                yield inner if inner in known else inner.rpartition(".")[0]


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        yield node
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from _statements(node)


def graph() -> Graph:
    """Return, for each folder, the folders that it imports from, and these imports."""
    known = modules()
    arrows: dict[str, dict[str, list[str]]] = {}
    for name, path in known.items():
        own = arrows.setdefault(folder_of(path), defaultdict(list))
        for other in imported(path, known):
            if other in known and folder_of(known[other]) != folder_of(path):
                own[folder_of(known[other])].append(f"{name} imports {other}")
    return arrows


def upward(arrows: Graph) -> list[str]:
    """Return imports from a folder that is not lower in the table."""
    place = {name: number for number, name in enumerate(ORDER)}
    return [
        line
        for folder, others in arrows.items()
        for other, lines in others.items()
        if place[other] > place[folder]
        for line in lines
    ]


def levels(arrows: Graph) -> list[list[str]]:
    """Return folders by level. A folder without imports is on level 1, and any other is one above
    the highest folder that it imports. Raises `graphlib.CycleError` if they form a circle."""
    sorter = TopologicalSorter({folder: others.keys() for folder, others in arrows.items()})
    level: dict[str, int] = {}
    for folder in sorter.static_order():
        level[folder] = 1 + max((level[other] for other in arrows[folder]), default=0)
    return [
        [name for name in ORDER if level.get(name) == number + 1]
        for number in range(max(level.values()))
    ]


def table() -> str:
    """Return the table of folders for `docs/architecture.md`."""
    lines = ["| folder of `hoplab/` | runs | holds |", "|---|---|---|"]
    for layer in LAYERS:
        lines.append(f"| **`{layer.name}/`** | {layer.where} | |")
        for folder in layer.folders:
            path = folder.name.replace(".", "/")
            lines.append(f"| `{path}/` | | {folder.purpose} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the page with the present table."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    arrows = graph()
    wrong = upward(arrows)
    try:
        found = levels(arrows)
    except CycleError as error:
        print("circle:", " imports ".join(reversed(error.args[1])))
        return 1
    for number, names in enumerate(found, 1):
        print(number, *names)
    print(f"{len(found)} levels, no circle, {len(wrong)} upward imports")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
