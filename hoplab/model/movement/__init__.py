# SPDX-License-Identifier: Apache-2.0
"""Movement of stations: traces, the random waypoint model, files of simulators and GPS receivers.

Pure apart from `read`, `load` and `save`. Times in s, places in m.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hoplab.model.errors import ScenarioError
from hoplab.model.movement import bonnmotion, gpx, ns2, sumo
from hoplab.model.movement.trace import Movement, Trace, Waypoint
from hoplab.model.movement.waypoint import RandomWaypoint, random_waypoint
from hoplab.model.reading import read_bytes

__all__ = [
    "Movement",
    "RandomWaypoint",
    "Trace",
    "Waypoint",
    "load",
    "random_waypoint",
    "read",
    "save",
    "within",
]

MAX_BYTES = 256 << 20
"""Limit of an unpacked file."""


def _unnamed(parse: Callable[[str, str], dict[str, Trace]]) -> Callable[[str, str], Movement]:
    return lambda text, source: Movement(parse(text, source))


_PARSERS: dict[str, Callable[[str, str], Movement]] = {
    ".ns2": _unnamed(ns2.parse),
    ".tcl": _unnamed(ns2.parse),
    ".ns_movements": _unnamed(ns2.parse),
    ".movements": _unnamed(bonnmotion.parse),
    ".xml": sumo.parse,
    ".gpx": gpx.parse,
}
WRITTEN = tuple(suffix for suffix in _PARSERS if suffix != ".gpx")
"""Suffixes of the formats that `save` writes."""


def load(path: Path) -> dict[str, Trace]:
    """Return the stations of a movement file; see `read`."""
    return dict(read(path).traces)


def read(path: Path) -> Movement:
    """Read a movement file. Its suffix names the format; a file with a further ``.gz`` is unpacked.

    Raises `ScenarioError` that names file, line, value and what was expected.
    """
    parser = _PARSERS[_suffix(path)]
    data = read_bytes(path, MAX_BYTES, "a movement file")
    try:
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ScenarioError(f"{path}: is larger than {MAX_BYTES >> 20} MiB; shorten it")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is no text; expected a movement file") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ScenarioError(f"{path}: is not gzip data; name it without .gz or pack it") from None
    return parser(text, str(path))


def save(traces: Mapping[str, Trace], path: Path, step_s: float = sumo.STEP_S) -> None:
    """Write a movement file in the format of its suffix. ``step_s`` is the interval between time
    steps in SUMO's format.

    Raises `ScenarioError` for another suffix, and for anything that the format cannot express.
    """
    suffix = _suffix(path, WRITTEN)
    try:
        if suffix == ".movements":
            text = bonnmotion.dump(traces)
        else:
            text = sumo.dump(traces, step_s) if suffix == ".xml" else ns2.dump(traces)
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from None
    data = text.encode()
    try:
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written: {error.strerror}") from None


def within(movement: Movement, begin_s: float, end_s: float) -> dict[str, Trace]:
    """Return the stations from ``begin_s``, which becomes time 0, to ``end_s``. In a file whose
    stations come and go, only those that are present at some time between are returned."""
    found = {}
    for name, trace in movement.traces.items():
        if movement.called and (trace[-1].t_s < begin_s or trace[0].t_s > end_s):
            continue
        points = [point for point in trace if begin_s < point.t_s < end_s]
        if trace[0].t_s <= begin_s or trace[0].t_s > end_s:
            points.insert(0, Waypoint(begin_s, *trace.at(begin_s)))
        if trace[-1].t_s >= end_s > begin_s:
            points.append(Waypoint(end_s, *trace.at(end_s)))
        found[name] = Trace(tuple(point._replace(t_s=point.t_s - begin_s) for point in points))
    return found


def _suffix(path: Path, known: Sequence[str] = tuple(_PARSERS)) -> str:
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix not in known:
        raise ScenarioError(
            f"{path}: suffix {suffix!r} is no movement format; expected one of: " + ", ".join(known)
        )
    return suffix
