# SPDX-License-Identifier: Apache-2.0
"""A guest's virtual time and its running program, read from outside in its kernel's memory."""

from __future__ import annotations

import os
import struct
from functools import cache
from pathlib import Path

START_NS = 1_700_000_000_000_000_000
"""Date of every virtual guest's boot, 2023-11-14: results must not depend on when they were
made."""
NS_PER_S = 1e9
PLAUSIBLE_S = 1e9
NOW, RUNNING, FIRST_TASK = b"time_travel_time", b"cpu_tasks", b"init_task"
"""The symbols that `kernel-modules/guest/build` keeps."""
SYMBOL_TABLE = 2
FIRST_NAME = b"swapper"
"""Name of the kernel's first task in its ``struct task_struct``; newer kernels add its core."""
TASK_BYTES = 16384
"""More bytes than such a structure has."""
NAME_BYTES = 16


def virtual_s(leader: int, binary: Path) -> float | None:
    """Return virtual seconds since the boot of the guest that runs ``binary`` as process
    ``leader``.

    None if the host or the kernel does not show them.
    """
    try:
        (now_ns,) = struct.unpack("=Q", _read(leader, _address(binary, NOW), 8))
    except (OSError, struct.error):
        return None
    return float(now_ns / NS_PER_S) if now_ns / NS_PER_S < PLAUSIBLE_S else None


def running(leader: int, binary: Path) -> str | None:
    """Return the program that has the guest's processor, by the first 15 letters of its name.

    None if no program has it, or if the host or the kernel does not show it.
    """
    try:
        first = _address(binary, FIRST_TASK)
        # The place of a task's name depends on the kernel's options, but the first task's name is
        # known.
        at = _read(leader, first, TASK_BYTES).find(FIRST_NAME)
        (task,) = struct.unpack("=Q", _read(leader, _address(binary, RUNNING), 8))
        if at < 0 or task == first:
            return None
        name = _read(leader, task + at, NAME_BYTES)
    except (OSError, struct.error, OverflowError):
        return None
    return name.partition(b"\0")[0].decode("utf-8", "replace")


def _read(leader: int, place: int, size: int) -> bytes:
    memory = os.open(f"/proc/{leader}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(memory, size, place)
    finally:
        os.close(memory)


def _address(binary: Path, symbol: bytes) -> int:
    """Return the address of a symbol. Raises OSError if the kernel does not have it."""
    place = symbols(binary).get(symbol)
    if place is None:
        raise OSError(0, f"{binary}: has no symbol {symbol.decode()}")
    return place


@cache
def symbols(binary: Path) -> dict[bytes, int]:
    """Return the addresses of the kernel's variables from its symbol table (ELF-64)."""
    found: dict[bytes, int] = {}
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
                    symbol = names[name : names.index(b"\0", name)]
                    if symbol in (NOW, RUNNING, FIRST_TASK):
                        found[symbol] = int(value)
    except (OSError, struct.error, ValueError, IndexError):
        pass
    return found
