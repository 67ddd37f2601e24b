# SPDX-License-Identifier: Apache-2.0
"""How stations move: traces, the random waypoint model, ns-2 and BonnMotion files.

Pure apart from `load` and `save`. Times in s, places in m.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from hoplab.errors import ScenarioError
from hoplab.scenario.movement import bonnmotion, ns2
from hoplab.scenario.movement.trace import Trace, Waypoint
from hoplab.scenario.movement.waypoint import random_waypoint

__all__ = ["Trace", "Waypoint", "load", "random_waypoint", "save"]

MAX_BYTES = 256 << 20
"""Unpacked."""
_PARSERS: dict[str, Callable[[str, str], dict[str, Trace]]] = {
    ".ns2": ns2.parse,
    ".tcl": ns2.parse,
    ".ns_movements": ns2.parse,
    ".movements": bonnmotion.parse,
}


def load(path: Path) -> dict[str, Trace]:
    """Read a movement file; its suffix says the format, ``.gz`` after it is unpacked.

    Raises `ScenarioError` that names file, line, value and what was expected.
    """
    parser = _PARSERS[_suffix(path)]
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ScenarioError(f"{path}: is larger than {MAX_BYTES >> 20} MiB; shorten it")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is no text; expected a movement file") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ScenarioError(f"{path}: is not gzip data; name it without .gz or pack it") from None
    except OSError as error:
        raise ScenarioError(
            f"{path}: cannot be read: {error.strerror}; expected a movement file"
        ) from None
    return parser(text, str(path))


def save(traces: Mapping[str, Trace], path: Path) -> None:
    """Write a movement file in the format its suffix says.

    Raises `ScenarioError` for another suffix and for a jump in an ns-2 file.
    """
    dump = bonnmotion.dump if _suffix(path) == ".movements" else ns2.dump
    try:
        text = dump(traces)
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}; use .movements") from None
    data = text.encode()
    try:
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written: {error.strerror}") from None


def _suffix(path: Path) -> str:
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix not in _PARSERS:
        raise ScenarioError(
            f"{path}: suffix {suffix!r} is no movement format; expected one of: "
            + ", ".join(_PARSERS)
        )
    return suffix
