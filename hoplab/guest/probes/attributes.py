# SPDX-License-Identifier: Apache-2.0
"""Attributes of netlink messages, where a general library would parse more than a table keeps."""

from __future__ import annotations

import struct
from collections.abc import Iterator

ATTRIBUTE = struct.Struct("=HH")
"""Length with this head, and type (linux/netlink.h, struct nlattr)."""
KIND = 0x3FFF
"""Mask of an attribute's type, without the flags of nesting and byte order."""

Attributes = Iterator[tuple[int, memoryview]]


def aligned(length: int) -> int:
    """Return where the next attribute or message begins."""
    return (length + 3) & ~3


def attributes(data: memoryview) -> Attributes:
    """Yield number and content of each attribute, up to one that is none."""
    at = 0
    while at + ATTRIBUTE.size <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        if length < ATTRIBUTE.size:
            return
        yield kind & KIND, data[at + ATTRIBUTE.size : at + length]
        at += aligned(length)
