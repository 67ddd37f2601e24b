# SPDX-License-Identifier: Apache-2.0
"""Write the memory of a guest that stands by to a file, from which others start
(`kernel-modules/guest/c/image_on_host.h`).

The file begins with the guest's physical memory. Then comes what else its kernel's process has
written to. The last page, ``struct image_end``, says where all that belongs, and which descriptors
are duplicates of others.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine.launcher.descriptors import ADDR_NO_RANDOMIZE, CONSOLE_FD

NAME = b"hoplab image 1"
MOST_PARTS, MOST_FILES = 48, 32
PART, FILE = 4, 2
"""Numbers of a ``struct image_part`` and a ``struct image_file``."""
END = struct.Struct(f"16s5Q{PART * MOST_PARTS}Q{FILE * MOST_FILES}I")
LARGEST = 1 << 30
"""Octets of the largest part. KASAN has a shadow of all addresses."""
BLOCK = 512
NULL = os.makedev(1, 3)
EPOLL = "anon_inode:[eventpoll]"
STUB = "/memfd:uml-userspace"
"""The program of each process of a guest, from Linux 7.2 on."""
ROOM = 8
"""A file is written where the disk has so many times its size left."""


@dataclass(frozen=True)
class Part:
    """A part of a process's memory, in octets. What not every new process has is ``new``."""

    at: int
    length: int
    new: bool


def write(pid: int, memory: int, to: int) -> None:
    """Write the image of a process to a new file. ``memory`` is its descriptor of the guest's
    memory. Raises `OSError` if that cannot be, and ValueError if the process has what a new one
    cannot have."""
    process = Path(f"/proc/{pid}")
    if not int((process / "personality").read_text("ascii"), 16) & ADDR_NO_RANDOMIZE:
        raise ValueError("has random addresses")
    files = _files(process, memory)
    vdso, heap_end, parts = _parts(process)
    at = _copy(process / "fd" / str(memory), to)
    table = []
    with (process / "mem").open("rb", buffering=0) as source:
        for part in parts:
            table += [part.at, part.length, at, part.new]
            source.seek(part.at)
            at += _written(to, source.read(part.length), at)
    numbers = [number for pair in files for number in pair]
    counts = memory, len(parts), len(files)
    end = END.pack(
        NAME,
        vdso,
        heap_end,
        *counts,
        *_filled(table, PART * MOST_PARTS),
        *_filled(numbers, FILE * MOST_FILES),
    )
    _written(to, end.ljust(mmap.PAGESIZE, b"\0"), at)


def _filled(numbers: list[int], length: int) -> list[int]:
    if len(numbers) > length:
        raise ValueError(f"has {len(numbers)} numbers in its image; {length} are the most")
    return numbers + [0] * (length - len(numbers))


def _parts(process: Path) -> tuple[int, int, list[Part]]:
    """Return where the host's own page is, where the C library's memory ends, and what the process
    has written to. Some of that it may only read by now: what User-Mode Linux protects in the end
    of its start."""
    vdso = heap_end = start = end = 0
    rights = name = ""
    parts = []
    for line in (process / "smaps").read_text("utf-8", "surrogateescape").splitlines():
        words = line.split(maxsplit=5)
        if not words[0].endswith(":"):
            rights, name = words[1], words[5] if len(words) > 5 else ""
            start, end = (int(number, 16) for number in words[0].split("-"))
            heap_end = end if name == "[heap]" else heap_end
            vdso = start if name == "[vdso]" else vdso
        elif (
            words[0] == "Anonymous:" and rights[3] == "p" and (words[1] != "0" or rights[1] == "w")
        ):
            if rights[1] != "w" and rights[2] == "x":
                raise ValueError(f"has written to its code at {start:#x}")
            if end - start > LARGEST:
                raise ValueError(f"has {end - start} octets at {start:#x}; {LARGEST} are the most")
            # What lies before the C library's memory is the program's.
            parts.append(Part(start, end - start, heap_end != 0 and name == ""))
    return vdso, heap_end, parts


def _files(process: Path, memory: int) -> list[tuple[int, int]]:
    """Return the descriptors that are duplicates, each with one of the first four that it is of."""
    known = {_about(process, number): number for number in range(1, CONSOLE_FD + 1)}
    files = []
    for path in (process / "fd").iterdir():
        number, link = int(path.name), str(path.readlink())
        # Each process has a line to the host of its own.
        if number <= CONSOLE_FD or number == memory or link.startswith("socket:"):
            continue
        # These are made anew, and until then nothing else may have their numbers.
        is_renewed = link == EPOLL or link.startswith(STUB)
        of = known.get(_about(process, number), 0)
        if of == 0 and path.stat().st_rdev != NULL and not is_renewed:
            raise ValueError(f"has {link} open")
        files.append((number, of))
    return files


def _about(process: Path, number: int) -> tuple[int, int, int]:
    """Return what tells open files apart."""
    about = (process / "fd" / str(number)).stat()
    words = (process / "fdinfo" / str(number)).read_text("ascii").split()
    flags = int(words[words.index("flags:") + 1], 8)
    return about.st_dev, about.st_ino, flags & ~os.O_CLOEXEC


def _copy(source: Path, to: int) -> int:
    """Copy what a file holds. Returns its size."""
    descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        about, disk = os.fstat(descriptor), os.fstatvfs(to)
        if disk.f_bavail * disk.f_frsize < ROOM * about.st_blocks * BLOCK:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(to, about.st_size)
        for begin, end in _held(descriptor, about.st_size):
            at = begin
            os.lseek(to, at, os.SEEK_SET)
            while at < end:
                at += os.sendfile(to, descriptor, at, end - at)
        return about.st_size
    finally:
        os.close(descriptor)


def _held(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that are no holes."""
    at = 0
    while at < size:
        try:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        at = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, at


def _written(to: int, data: bytes, at: int) -> int:
    """Write to a file. Returns how much that is."""
    left = memoryview(data)
    while left:
        left = left[os.pwrite(to, left, at + len(data) - len(left)) :]
    return len(data)
