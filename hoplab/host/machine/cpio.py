# SPDX-License-Identifier: Apache-2.0
"""Archives that a kernel unpacks as its root (Documentation/driver-api/early-userspace/
buffer-format.rst of Linux), written so that the same files give the same bytes.

Owner, date and order are fixed; of the modes only "may be executed" stays.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
HEADER_BYTES = 110
ALIGNMENT = 512
"""The kernel takes archives one after the other; between them may be zeros."""


@dataclass(frozen=True)
class Entry:
    """One file: its mode as in stat(2), and its bytes, or its target if it is a link."""

    mode: int
    content: bytes = b""

    @classmethod
    def folder(cls) -> Entry:
        return cls(stat.S_IFDIR | 0o755)

    @classmethod
    def file(cls, content: bytes, executable: bool = False) -> Entry:
        return cls(stat.S_IFREG | (0o755 if executable else 0o644), content)

    @classmethod
    def link(cls, target: str) -> Entry:
        return cls(stat.S_IFLNK | 0o777, target.encode())

    def sha256(self) -> str:
        return hashlib.sha256(b"%o " % self.mode + self.content).hexdigest()


def from_tree(tree: Path) -> dict[str, Entry]:
    """Everything below a folder."""
    entries = {}
    for path in tree.rglob("*"):
        mode = path.lstat().st_mode
        name = path.relative_to(tree).as_posix()
        if stat.S_ISLNK(mode):
            entries[name] = Entry.link(str(path.readlink()))
        elif stat.S_ISDIR(mode):
            entries[name] = Entry.folder()
        elif stat.S_ISREG(mode):
            entries[name] = Entry.file(path.read_bytes(), bool(mode & 0o100))
    return entries


def dump(entries: Mapping[str, Entry]) -> bytes:
    """The archive of ``entries``, with the folders that their names imply."""
    complete = dict(entries)
    for name in entries:
        for parent in list(Path(name).parents)[:-1]:
            complete.setdefault(parent.as_posix(), Entry.folder())
    parts = [
        _record(number, name, complete[name]) for number, name in enumerate(sorted(complete), 1)
    ]
    parts.append(_record(0, TRAILER, Entry(0)))
    archive = b"".join(parts)
    return archive + bytes(-len(archive) % ALIGNMENT)


def _record(number: int, name: str, entry: Entry) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = [number, entry.mode, 0, 0, links, 0, len(entry.content)]
    fields += [0, 0, 0, 0, len(encoded), 0]
    head = MAGIC + b"".join(b"%08X" % field for field in fields) + encoded
    head += bytes(-len(head) % 4)
    return head + entry.content + bytes(-len(entry.content) % 4)


def load(archive: bytes) -> Iterator[tuple[str, Entry]]:
    """The entries of an archive, or of several one after the other.

    Raises `ValueError` where the bytes are no such archive.
    """
    at = 0
    while at < len(archive):
        if archive[at : at + 4] == b"\0\0\0\0":
            at += 4
            continue
        if archive[at : at + 6] != MAGIC or len(archive) < at + HEADER_BYTES:
            raise ValueError(f"no archive entry at byte {at}")
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_bytes = fields[1], fields[6], fields[11]
        name = archive[at + HEADER_BYTES : at + HEADER_BYTES + name_bytes - 1].decode()
        at += HEADER_BYTES + name_bytes
        at += -at % 4
        if name != TRAILER:
            yield name, Entry(mode, archive[at : at + size])
        at += size
        at += -at % 4
