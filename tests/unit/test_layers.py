# SPDX-License-Identifier: Apache-2.0
"""The package's layers: a folder imports only from those that stand above it in the table."""

import ast
import tomllib

import pytest

from hoplab.front.pages import layers
from hoplab.model.resources import PACKAGE, PROJECT

MOST_LEVELS = 11
"""Five of them are of `model`."""
MOST_LATE = 12
"""Imports inside functions."""


def test_every_folder_is_in_the_table_and_no_other() -> None:
    assert {layers.folder_of(path) for path in layers.modules().values()} <= set(layers.ORDER)
    assert all((layers.PACKAGE / name.replace(".", "/")).is_dir() for name in layers.ORDER)


def test_imports_go_one_way_over_few_levels() -> None:
    arrows = layers.graph()
    assert not layers.upward(arrows)
    assert len(layers.levels(arrows)) <= MOST_LEVELS


def test_few_of_our_imports_are_inside_functions_each_with_its_reason() -> None:
    late = {
        (path, node.lineno)
        for path in PACKAGE.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if ast.unparse(node).startswith(("import hoplab", "from hoplab"))
    }
    assert len(late) <= MOST_LATE
    for path, number in late:
        above, own = path.read_text(encoding="utf-8").splitlines()[number - 2 : number]
        assert above.lstrip().startswith("#") or "#" in own, f"{path}:{number}"


def test_the_page_shows_the_table() -> None:
    written = layers.PAGE.read_text(encoding="utf-8")
    assert written == layers.page(written), "python -m hoplab.front.pages.layers"


@pytest.mark.parametrize(("crate", "below"), [("base", []), ("medium-core", ["hoplab-base"])])
def test_the_channels_engine_stands_alone(crate: str, below: list[str]) -> None:
    """Nothing of the lab is under it, so it can be taken by itself (its README)."""
    text = (PROJECT / "daemons" / crate / "Cargo.toml").read_text(encoding="utf-8")
    used = tomllib.loads(text)["dependencies"]
    assert [name for name in used if name.startswith("hoplab-")] == below
