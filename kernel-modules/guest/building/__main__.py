# SPDX-License-Identifier: GPL-2.0-only
"""The command line of the build."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from building import Refused, compiled, kernels, series, source

FOLDERS: dict[str, tuple[Callable[[kernels.Kernel], Path], str]] = {
    "--print-path": (
        lambda kernel: kernel.result(kernel.packaged()),
        "say where it is or would be",
    ),
    "--print-tree": (lambda kernel: kernel.tree(), "say where it is before its last link"),
    "--compile": (lambda kernel: kernel.compiled(), "make that alone, which needs no engine"),
}
"""Options that name a folder of a package's kernel: how it is found, and what for."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="build",
        description="Build a guest's kernel and its modules, cached by what they are made from.",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--kernel", metavar="VERSION", help="a kernel of locks/kernels.lock")
    which.add_argument(
        "--source", metavar="FOLDER", type=Path, help="a kernel's tree, as it stands"
    )
    parser.add_argument(
        "--deb", metavar="FILE", type=Path, help="the kernel's package, if not cached"
    )
    parser.add_argument(
        "--patch", metavar="FILE", type=Path, action="append", default=[], help="may be repeated"
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, action="append", default=[], help="further options"
    )
    for option, (_, what) in FOLDERS.items():
        parser.add_argument(option, dest="folder", action="store_const", const=option, help=what)
    parser.add_argument(
        "--unpack", metavar="FOLDER", type=Path, help="only unpack the package's source there"
    )
    parser.add_argument(
        "--part", metavar="PATH", action="append", default=[], help="of the source; may be repeated"
    )
    told = parser.parse_args(arguments)
    try:
        kernel = kernels.Kernel(_wanted(told))
        if told.unpack is not None:
            if not isinstance(kernel.wanted.source, source.Package):
                raise Refused(f"--unpack: {told.source} is unpacked already")
            kernel.wanted.source.unpack(told.unpack, told.part)
        elif told.folder is not None:
            if kernel.wanted.is_own:
                raise Refused(
                    f"{told.folder}: is for a kernel without patches and options of yours"
                )
            print(FOLDERS[told.folder][0](kernel))
        else:
            print(kernel.build())
    except Refused as refused:
        print(f"guest kernel: {refused}", file=sys.stderr)
        return refused.exit_status
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"guest kernel: {where}{error.strerror}", file=sys.stderr)
        return Refused.exit_status
    return 0


def _end(number: int, frame: FrameType | None) -> None:
    """End by an exception, so that new folders are removed."""
    sys.exit(128 + number)


def _options(path: Path) -> None:
    """Raise `Refused` for a file that is no list of a kernel's options."""
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#") and not compiled.settings(line):
            raise Refused(
                f"--config: {path}, line {number}: {line.strip()[:60]!r} is no option; write one "
                "as CONFIG_MPTCP=y"
            )


def _wanted(told: argparse.Namespace) -> kernels.Wanted:
    for option, paths in (("--patch", told.patch), ("--config", told.config)):
        for path in paths:
            if not path.is_file():
                raise Refused(f"{option}: {path} is no file")
    for path in told.config:
        _options(path)
    known = series.read()
    if told.source is not None:
        found: source.Source = source.tree(told.source.resolve(), known.oldest)
    else:
        packages = kernels.cache() / "packages"
        found = source.package(told.kernel or known.default, packages, told.deb)
    resolved = [tuple(path.resolve() for path in paths) for paths in (told.patch, told.config)]
    return kernels.Wanted(found, *resolved)


def look_everywhere() -> None:
    """Find Debian's depmod, which is where an ordinary user's PATH does not look."""
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def run() -> NoReturn:
    """Do what the command line says, and end the process."""
    signal.signal(signal.SIGTERM, _end)
    look_everywhere()
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
