# SPDX-License-Identifier: Apache-2.0
"""Generic netlink: each part of the kernel has a family of messages (linux/genetlink.h)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator

from hoplab.guest.network.netlink import (
    DUMP,
    GENERIC,
    GENERIC_PROTOCOL,
    Conversation,
    attribute,
    attributes,
    number,
    text,
)

GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 16, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2


class Generic(Conversation):
    """A socket for the messages of all families, in a station's namespace or in that of this
    process; ``what`` names it in errors."""

    def __init__(self, station: str | None, what: str) -> None:
        super().__init__(station, GENERIC_PROTOCOL, what)

    def request(
        self, family: int, command: int, given: Iterable[tuple[int, bytes]], version: int = 0
    ) -> None:
        """Have the kernel do something with these attributes. Raises `Refused` if it does not."""
        self.do(family, _body(command, given, version))

    def dump(
        self, family: int, command: int, given: Iterable[tuple[int, bytes]]
    ) -> Iterator[dict[int, memoryview]]:
        """Yield the attributes of each answer."""
        for answer in self.ask(family, _body(command, given, 0), DUMP):
            yield dict(attributes(answer[GENERIC.size :]))


@functools.cache
def number_of(family: str) -> int:
    """Return the kernel's number of a family. Raises `Refused` if it has none of this name."""
    name = attribute(CTRL_ATTR_FAMILY_NAME, text(family))
    with contextlib.closing(Generic(None, family)) as asked:
        (answer,) = asked.ask(GENL_ID_CTRL, GENERIC.pack(CTRL_CMD_GETFAMILY, 1, 0) + name)
    return number(dict(attributes(answer[GENERIC.size :]))[CTRL_ATTR_FAMILY_ID])


def _body(command: int, given: Iterable[tuple[int, bytes]], version: int) -> bytes:
    head = GENERIC.pack(command, version, 0)
    return head + b"".join(attribute(kind, value) for kind, value in given)
