# SPDX-License-Identifier: Apache-2.0
"""The file of a link's `trace`: capacity over time, with delay and losses where it has them.

Two formats:

- CSV, a name with `.csv`: a row's `rate_mbps`, `delay_ms` and `loss` hold from its `t_s` to the
  next row. The last row lasts as long as the one before it.
- Mahimahi's (mm-link, Netravali et al. 2015), all other names: a line for each opportunity to
  deliver `OPPORTUNITY_BYTES`, with its time in whole milliseconds. The last line's time is the
  trace's length.

A resolved scenario has a trace as text: the steps that the run needs, packed.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from io import BufferedReader
from pathlib import Path

from hoplab.model.errors import ScenarioError
from hoplab.model.reading import opened

OPPORTUNITY_BYTES = 1504
"""PACKET_SIZE of Mahimahi: a packet of 1500 octets, and 4 of its TUN device."""
MOST_STEPS = 1 << 24
"""STEPS_MOST of kernel-modules/link/steps.h."""
MOST_MBPS, MOST_DELAY_MS = 10_000.0, 100_000.0
MOST_S = 10_000_000.0
"""Last time of a trace: 115 days."""
LONGEST_US = 0xFFFFFFFF
"""Of a step, in 32 bits."""
SINGLE_US = 1_000_000
"""Length of a trace of one row, which is the same at all times."""
LONGEST_LINE = 200
MOST_PACKED = 48 << 20
"""Octets of the packed text; a scenario's file has at most 64 MiB."""
CSV = ".csv"
REQUIRED, OPTIONAL = ("t_s", "rate_mbps"), ("delay_ms", "loss")
HEADER = struct.Struct("<4sBBxxII")
MAGIC = b"hlt1"
LOSS_UNITS = 0xFFFFFFFF


@dataclass
class Steps:
    """What one value is over time, without steps that change nothing."""

    length_us: array[int] = field(default_factory=lambda: array("I"))
    value: array[int] = field(default_factory=lambda: array("I"))
    loss: array[int] = field(default_factory=lambda: array("I"))

    def add(self, length_us: int, value: int, loss: int = 0) -> None:
        """Append a step, which may be longer than 32 bits hold."""
        if self.value and (self.value[-1], self.loss[-1]) == (value, loss):
            more = min(length_us, LONGEST_US - self.length_us[-1])
            self.length_us[-1] += more
            length_us -= more
            if not length_us:
                return
        while True:
            part = min(length_us, LONGEST_US)
            self.length_us.append(part)
            self.value.append(value)
            self.loss.append(loss)
            length_us -= part
            if not length_us:
                return

    def __len__(self) -> int:
        return len(self.length_us)

    def rows(self) -> Iterable[tuple[int, int, int]]:
        return zip(self.length_us, self.value, self.loss, strict=True)


@dataclass(frozen=True)
class LinkTrace:
    """The capacity of a direction in steps: octets per s, or octets at once at a step's begin.

    ``path`` has the delay in us and the losses of 2^32, if the file has them.
    """

    at_once: bool
    repeated: bool
    capacity: Steps
    path: Steps | None

    @property
    def peak_mbps(self) -> float:
        """The highest rate; of opportunities, their highest number in a millisecond."""
        most = max(self.capacity.value)
        return most * 8e-3 if self.at_once else most * 8e-6

    @property
    def mean_mbps(self) -> float:
        """Octets over time."""
        length_us = sum(self.capacity.length_us)
        if self.at_once:
            return 8 * sum(self.capacity.value) / length_us
        rows = self.capacity.rows()
        return 8e-6 * sum(us * octets for us, octets, _ in rows) / length_us

    @property
    def longest_delay_ms(self) -> float:
        return max(self.path.value) / 1000 if self.path else 0.0

    def packed(self) -> str:
        """Return it as text. `unpacked` reads it."""
        packer = zlib.compressobj(6)
        parts = self.capacity, self.path or Steps()
        flags = self.at_once | self.repeated << 1 | (self.path is not None) << 2
        found = [packer.compress(HEADER.pack(MAGIC, flags, 0, *map(len, parts)))]
        for steps in parts:
            for values in (steps.length_us, steps.value, steps.loss):
                found.append(packer.compress(values.tobytes()))
        return base64.b64encode(b"".join([*found, packer.flush()])).decode("ascii")


@lru_cache(maxsize=8)
def unpacked(text: str) -> LinkTrace:
    """Return the trace in a resolved scenario. Raises ValueError."""
    wrong = ValueError("is no packed trace; name a file with trace")
    try:
        data = base64.b64decode(text, validate=True)
        unpacker = zlib.decompressobj()
        magic, flags, _, *counts = HEADER.unpack(unpacker.decompress(data, HEADER.size))
        if magic != MAGIC or max(counts) > MOST_STEPS or not counts[0]:
            raise wrong
        octets = 3 * array("I").itemsize * sum(counts)
        body = unpacker.decompress(unpacker.unconsumed_tail, octets + 1)
    except (binascii.Error, zlib.error, struct.error):
        raise wrong from None
    if len(body) != octets or not unpacker.eof:
        raise wrong
    place, parts = 0, []
    for count in counts:
        arrays = []
        for _ in range(3):
            values = array("I")
            values.frombytes(body[place : place + count * values.itemsize])
            place += count * values.itemsize
            arrays.append(values)
        parts.append(Steps(*arrays))
    capacity, path = parts
    if not any(capacity.length_us) or not any(capacity.value):
        raise wrong
    return LinkTrace(bool(flags & 1), bool(flags & 2), capacity, path if flags & 4 else None)


def load(path: Path, duration_s: float, repeated: bool) -> LinkTrace:
    """Read the part of a trace that a run of ``duration_s`` needs, and check all of it.

    Memory is bounded by that part. Raises `ScenarioError` with one line: file, line, value.
    """
    try:
        with opened(path) as file:
            found = (_csv if path.suffix == CSV else _mahimahi)(file, path, duration_s, repeated)
    except OSError as error:
        raise ScenarioError(
            f"{path}: cannot be read: {error.strerror}; name a trace of Mahimahi or CSV"
        ) from None
    return found


def _bounded(steps: Steps, path: Path) -> None:
    if len(steps) >= MOST_STEPS:
        raise ScenarioError(f"{path}: the run takes more than {MOST_STEPS} steps of it; shorten it")


def _lines(file: BufferedReader, path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise ScenarioError(f"{path}:{number}: is longer than {LONGEST_LINE} octets")
        line = line.strip()
        if line:
            yield number, line


def _mahimahi(file: BufferedReader, path: Path, duration_s: float, repeated: bool) -> LinkTrace:
    end_ms = math.ceil(duration_s * 1000)
    steps, last_ms, count, latest_ms = Steps(), 0, 0, 0
    for number, line in _lines(file, path):
        # Longer numbers would be beyond any time.
        if not line.isdigit() or len(line) > 12:
            shown = line[:40].decode("ascii", "replace")
            raise ScenarioError(
                f"{path}:{number}: {shown!r}; expected a time in whole ms, as Mahimahi has it"
            )
        t_ms = int(line)
        if t_ms < latest_ms:
            raise ScenarioError(
                f"{path}:{number}: {t_ms} ms follows {latest_ms} ms; put them in order of time"
            )
        latest_ms = t_ms
        if t_ms > end_ms:
            continue
        if t_ms != last_ms:
            _bounded(steps, path)
            _give(steps, 1000 * (t_ms - last_ms), count)
            last_ms, count = t_ms, 0
        count += 1
    if not latest_ms:
        raise ScenarioError(
            f"{path}: has no capacity; expected a line for each packet, the last after 0 ms"
        )
    cut = latest_ms > end_ms
    _give(steps, 1000 * (end_ms + 1 - last_ms) if cut else 0, count)
    return LinkTrace(True, repeated and not cut, steps, None)


def _give(steps: Steps, length_us: int, count: int) -> None:
    """Append octets at once. Equal ones are not one step."""
    steps.length_us.append(length_us)
    steps.value.append(count * OPPORTUNITY_BYTES)
    steps.loss.append(0)


@dataclass(frozen=True)
class _Row:
    t_us: int
    octets_per_s: int
    delay_us: int
    loss: int


def _csv(file: BufferedReader, path: Path, duration_s: float, repeated: bool) -> LinkTrace:
    end_us = math.ceil(duration_s * 1e6)
    lines = _lines(file, path)
    names = _names(next(lines, (1, b""))[1], path)
    capacity, delays = Steps(), Steps()
    row: _Row | None = None
    begin_us = length_us = gives = 0
    for number, line in lines:
        found = _row(line, names, f"{path}:{number}")
        gives = gives or found.octets_per_s
        if row is not None:
            length_us = found.t_us - row.t_us
            if length_us <= 0:
                raise ScenarioError(
                    f"{path}:{number}: {found.t_us / 1e6:g} s follows {row.t_us / 1e6:g} s; "
                    "put them in order of time"
                )
            if row.t_us < end_us:
                _bounded(capacity, path)
                # What the first row says holds before it.
                _add(capacity, delays, row, found.t_us - begin_us)
            begin_us = found.t_us
        row = found
    if row is None or not gives:
        raise ScenarioError(f"{path}: has no capacity; expected rows with rate_mbps above 0")
    if row.t_us < end_us:
        _add(capacity, delays, row, length_us or row.t_us + SINGLE_US)
    # What is longer than the run never begins anew.
    again = repeated and row.t_us < end_us
    if not any(capacity.value):
        raise ScenarioError(f"{path}: has no capacity in the run's {duration_s:g} s")
    return LinkTrace(False, again, capacity, delays if "delay_ms" in names else None)


def _add(capacity: Steps, delays: Steps, row: _Row, length_us: int) -> None:
    capacity.add(length_us, row.octets_per_s)
    delays.add(length_us, row.delay_us, row.loss)


def _names(line: bytes, path: Path) -> list[str]:
    names = line.removeprefix(b"\xef\xbb\xbf").decode("ascii", "replace").split(",")
    names = [name.strip() for name in names]
    wrong = [name for name in names if name not in (*REQUIRED, *OPTIONAL)]
    if wrong or len(set(names)) < len(names) or not set(REQUIRED) <= set(names):
        raise ScenarioError(
            f"{path}:1: columns {', '.join(names)[:80]!r}; expected {', '.join(REQUIRED)} and, if "
            f"you have them, {', '.join(OPTIONAL)}"
        )
    if "loss" in names and "delay_ms" not in names:
        raise ScenarioError(f"{path}:1: has the column loss, and delay_ms not; add it")
    return names


def _row(line: bytes, names: list[str], where: str) -> _Row:
    fields = line.decode("ascii", "replace").split(",")
    if len(fields) != len(names):
        raise ScenarioError(f"{where}: has {len(fields)} values; expected {len(names)}")
    values = dict(zip(names, fields, strict=True))
    t_s = _number(values, "t_s", MOST_S, where)
    rate_mbps = _number(values, "rate_mbps", MOST_MBPS, where)
    delay_ms = _number(values, "delay_ms", MOST_DELAY_MS, where)
    loss = _number(values, "loss", 1.0, where)
    return _Row(
        round(t_s * 1e6),
        round(rate_mbps * 1e6 / 8),
        round(delay_ms * 1000),
        round(loss * LOSS_UNITS),
    )


def _number(values: dict[str, str], name: str, most: float, where: str) -> float:
    text = values.get(name, "0")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise ScenarioError(f"{where}: {name}: {text[:40]!r}; expected a number from 0 to {most:g}")
    return number
