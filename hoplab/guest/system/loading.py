# SPDX-License-Identifier: Apache-2.0
"""The lab with fewer system calls: its modules from one file, of a package only what is used, and
room for its frames.

An import asks the file system some ten times for each module. In a guest each of these is a system
call, and the lab has 500 modules. A sealed machine therefore has their code in one file.
"""

import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import CodeType, ModuleType
from typing import Any, NamedTuple

FILE = os.path.join(os.path.dirname(__file__), "modules.marshal")  # noqa: PTH118, PTH120 - pathlib is one of them
"""The file, which `hoplab.host.machine.modules` makes. A checkout has none."""

BARE = ("pyroute2", "unittest")
"""That of pyroute2 imports seventy modules, of databases and others. It needs unittest for a mock,
whose package imports what runs tests."""


class Kept(NamedTuple):
    """A module in the file: its path in the guest, and whether it is a package. Its marshalled
    code begins there among all codes, and has so many octets. Libraries have none; they are loaded
    from their path."""

    path: str
    is_package: bool
    code: tuple[int, int] | None


class _Finder:
    """Finder and loader of the modules in the file (`importlib.abc.MetaPathFinder`, `Loader`).

    Code is read where it is needed and not kept: copies of a guest copy what its lab has.
    """

    def __init__(self, modules: Mapping[str, Kept], descriptor: int, codes: int) -> None:
        self._modules = modules
        self._descriptor = descriptor
        self._codes = codes
        """Where codes begin in the file."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module in the file. Others are found as usual."""
        kept = self._modules.get(name)
        if kept is None:
            return None
        if kept.code is None:
            loader = ExtensionFileLoader(name, kept.path)
            return importlib.util.spec_from_file_location(name, kept.path, loader=loader)
        places = [kept.path.rpartition("/")[0]] if kept.is_package else None
        return importlib.util.spec_from_file_location(
            name,
            kept.path,
            loader=self,  # type: ignore[arg-type]  # the abstract classes take long to import
            submodule_search_locations=places,
        )

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> CodeType:
        """Return the module's code."""
        begin, length = self._modules[name].code or (0, 0)
        code: CodeType = marshal.loads(os.pread(self._descriptor, length, self._codes + begin))
        return code


def shorten() -> None:
    """Make what a process of the lab imports from now on come from the file, and packages bare of
    which it needs little."""
    from_one_file()
    for package in BARE:
        bare(package)


def from_one_file() -> None:
    """Take modules from the file from now on, if there is one."""
    try:
        descriptor = os.open(FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    with open(descriptor, "rb", closefd=False) as file:
        listed = marshal.load(file)
        codes = file.tell()
    kept = {name: Kept(*about) for name, about in listed.items()}
    sys.meta_path.insert(0, _Finder(kept, descriptor, codes))


def packed(modules: Mapping[str, tuple[str, bool, bytes | None]]) -> bytes:
    """Return the file's content. A list tells of each module its path, whether it is a package, and
    where its code is. All codes follow."""
    listed: dict[str, tuple[str, bool, tuple[int, int] | None]] = {}
    codes = bytearray()
    for name, (path, is_package, code) in modules.items():
        listed[name] = path, is_package, None if code is None else (len(codes), len(code))
        codes += code or b""
    # Version 2 of the format has no references, which depend on what else holds an object.
    return marshal.dumps(listed, 2) + codes


def bare(package: str) -> None:
    """Make modules of a package importable without the package's own ``__init__``.

    It runs when a program first asks for a name that is not a module's.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.loader is None or package in sys.modules:
        return
    module, loader = importlib.util.module_from_spec(spec), spec.loader

    def found(name: str) -> Any:
        if importlib.util.find_spec(f"{package}.{name}") is not None:
            return importlib.import_module(f"{package}.{name}")
        del module.__getattr__
        loader.exec_module(module)
        return getattr(module, name)

    module.__getattr__ = found  # type: ignore[method-assign]  # PEP 562
    sys.modules[package] = module


def with_room(call: Callable[[], int]) -> int:
    """Call a function and return its result. It has half a megabyte for the frames of what it
    calls: Python keeps frames in chunks of 16 KB. Whenever a call crosses the end of one, it maps
    another, and unmaps that at the return."""
    return call()


with_room.__code__ = with_room.__code__.replace(co_stacksize=1 << 16)
