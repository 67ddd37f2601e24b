# SPDX-License-Identifier: Apache-2.0
"""Programs that draw random numbers from the processor, which no guest can repeat."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

ELF_OF_64_BITS = b"\x7fELF\x02"
HEADERS_AT, SIZES_AT = 32, 54
"""In an ELF header: the offset of the program headers; their size and number (elf(5))."""
PROGRAM_HEADER = struct.Struct("<IIQQQQ")
PT_LOAD, PF_X = 1, 1
DRAWN = re.compile(
    rb"\x0f\xc7[\xf0-\xff]"
    rb"(?:[\x40-\x4f]?[\x89\x8b\xb8-\xbf\xc7].{1,5}?)?"
    rb"(?:[\x72\x73]|[\x40-\x4f]?\x0f[\x42\x43\x82\x83\x92\x93])",
    re.DOTALL,
)
"""RDRAND or RDSEED of a register, then, at once or after a move, an instruction that reads the
carry flag. The flag says whether there was a number (Intel SDM volume 2). Other code has the first
octets too."""


def draws(program: Path) -> bool:
    """Return whether the code of an executable file has such instructions. Libraries that it loads
    are not examined: OpenSSL's has them, but does not use them."""
    data = program.read_bytes()
    return any(DRAWN.search(data, at, at + length) for at, length in _code(data))


def _code(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset and length of each executable part."""
    if not data.startswith(ELF_OF_64_BITS):
        return
    try:
        (first,) = struct.unpack_from("<Q", data, HEADERS_AT)
        size, count = struct.unpack_from("<HH", data, SIZES_AT)
        for i in range(count):
            kind, flags, at, _, _, length = PROGRAM_HEADER.unpack_from(data, first + i * size)
            if kind == PT_LOAD and flags & PF_X and at + length <= len(data):
                yield at, length
    except (struct.error, OverflowError):  # cut off: the kernel will report what is wrong
        return
