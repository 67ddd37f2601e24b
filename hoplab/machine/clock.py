# SPDX-License-Identifier: Apache-2.0
"""A guest's virtual time, read from outside in its kernel's memory."""

from __future__ import annotations

import os
import struct
from functools import cache
from pathlib import Path

START_NS = 1_700_000_000_000_000_000
"""Date of every virtual guest's boot, 2023-11-14: results must not tell when they were made."""
NS_PER_S = 1e9
PLAUSIBLE_S = 1e9
SYMBOL = b"time_travel_time"
"""The one that `kernel-modules/guest/build` keeps."""
SYMBOL_TABLE = 2


def virtual_s(leader: int, binary: Path) -> float | None:
    """Virtual seconds since the boot of the guest that runs ``binary`` as process ``leader``.

    None where the host or the kernel does not tell.
    """
    place = address(binary)
    if place is None:
        return None
    try:
        memory = os.open(f"/proc/{leader}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            (now_ns,) = struct.unpack("=Q", os.pread(memory, 8, place))
        finally:
            os.close(memory)
    except (OSError, struct.error):
        return None
    return float(now_ns / NS_PER_S) if now_ns / NS_PER_S < PLAUSIBLE_S else None


@cache
def address(binary: Path) -> int | None:
    """Where the kernel keeps its virtual time, in ns, by its table of symbols (ELF-64)."""
    try:
        with binary.open("rb") as file:
            header = file.read(64)
            (table,) = struct.unpack_from("<Q", header, 40)
            size, count = struct.unpack_from("<HH", header, 58)
            file.seek(table)
            sections = [struct.unpack("<IIQQQQIIQQ", file.read(size)) for _ in range(count)]
            # name, type, flags, address, offset, size, link, …
            for _, kind, _, _, offset, length, link, *_ in sections:
                if kind != SYMBOL_TABLE:
                    continue
                file.seek(sections[link][4])
                names = file.read(sections[link][5])
                file.seek(offset)
                for name, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", file.read(length)):
                    if names[name : names.index(b"\0", name)] == SYMBOL:
                        return int(value)
    except (OSError, struct.error, ValueError, IndexError):
        pass
    return None
