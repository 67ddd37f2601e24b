# SPDX-License-Identifier: Apache-2.0
"""The lab's modules from one file, packages without their own ``__init__``, room for frames."""

import importlib
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoplab.guest.system import loading


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    finders, modules = list(sys.meta_path), set(sys.modules)
    yield
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def kept(source: str, path: str, is_package: bool) -> tuple[str, bool, bytes]:
    return path, is_package, marshal.dumps(compile(source, path, "exec"))


def test_modules_of_the_file_are_imported_without_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "modules.marshal"
    modules = {
        "odd_package": kept(
            "from odd_package.part import VALUE", "/no/odd_package/__init__.py", True
        ),
        "odd_package.part": kept("VALUE = 7", "/no/odd_package/part.py", False),
        "_json": (importlib.import_module("_json").__spec__.origin, False, None),
    }
    file.write_bytes(loading.packed(modules))
    monkeypatch.setattr(loading, "FILE", str(file))
    monkeypatch.delitem(sys.modules, "_json")
    loading.from_one_file()
    package = importlib.import_module("odd_package")
    assert package.VALUE == 7
    assert package.__path__ == ["/no/odd_package"]
    assert package.part.__file__ == "/no/odd_package/part.py"
    assert importlib.import_module("_json").scanstring('"a"', 1) == ("a", 3)
    with pytest.raises(ModuleNotFoundError, match=r"odd_package\.other"):
        importlib.import_module("odd_package.other")


def test_without_the_file_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.meta_path)
    monkeypatch.setattr(loading, "FILE", str(tmp_path / "none"))
    loading.from_one_file()
    assert sys.meta_path == before


def test_a_bare_package_is_run_when_a_name_of_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "odd_heavy"
    package.mkdir()
    (package / "__init__.py").write_text("from odd_heavy.part import VALUE\nRUN = True\n")
    (package / "part.py").write_text("VALUE = 8\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    loading.bare("odd_heavy")
    part = importlib.import_module("odd_heavy.part")
    heavy = sys.modules["odd_heavy"]
    assert part.VALUE == 8
    assert "RUN" not in vars(heavy)
    assert heavy.part is part  # a module of it is not one of its names
    assert heavy.RUN is True
    assert heavy.VALUE == 8
    with pytest.raises(AttributeError):
        _ = heavy.NOTHING


def test_a_package_that_is_loaded_or_missing_is_left_alone() -> None:
    loading.bare("json")
    assert sys.modules["json"].loads("1") == 1
    loading.bare("no_such_package_anywhere")
    assert "no_such_package_anywhere" not in sys.modules


def test_a_call_with_room_returns_its_result() -> None:
    def deep(levels: int) -> int:
        return levels and deep(levels - 1)

    assert loading.with_room(lambda: 3 + deep(500)) == 3
