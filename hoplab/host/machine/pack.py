# SPDX-License-Identifier: Apache-2.0
"""A machine as one file: a tar archive, compressed with Zstandard, the same bits from the same
machine.

Foreign archives may be hostile. The machine's description comes first, and every member must match
it. An unlisted name, another size or hash, a link or a device ends the reading. The members read so
far are then deleted.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from hoplab.host.machine import sealed, store
from hoplab.host.machine.sealed import DESCRIPTION, KERNEL, Machine
from hoplab.model.errors import Damaged, ResultsError
from hoplab.model.reading import content, opened

IDENTITY = "machine.id"
LEVEL = 12
ZSTD = bytes.fromhex("28b52ffd")
"""First octets of each file (RFC 8878 3.1.1)."""
FRAME_BYTES = 16 << 20
LARGEST_IDENTITY_BYTES = 64
LONGEST_NAME = 512
MOST_MEMBERS = 100_000
LARGEST_ARCHIVE_BYTES = 32 << 30
"""Limit of all members together, by their headers."""
CHUNK_BYTES = 1 << 20


class _Frames(io.RawIOBase):
    """Writes its input as Zstandard frames, which decoders join (RFC 8878 3)."""

    def __init__(self, file: IO[bytes], level: int) -> None:
        # Few runs need an archive, and Arrow takes a tenth of a second to load.
        import pyarrow as pa

        self._file = file
        self._codec = pa.Codec("zstd", compression_level=level)
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._waiting += data
        while len(self._waiting) >= FRAME_BYTES:
            self._frame(FRAME_BYTES)
        return len(data)

    def finish(self) -> None:
        self._frame(len(self._waiting))

    def _frame(self, size: int) -> None:
        if size:
            self._file.write(self._codec.compress(bytes(self._waiting[:size]), asbytes=True))
            del self._waiting[:size]


@contextmanager
def writing(file: Path, level: int = LEVEL) -> Iterator[tarfile.TarFile]:
    """Write a new archive, which appears in its place complete or not at all."""
    partial = file.with_name(f".{file.name}.partial")
    try:
        with partial.open("wb") as raw:
            frames = _Frames(raw, level)
            with tarfile.open(fileobj=frames, mode="w|", format=tarfile.GNU_FORMAT) as tar:
                yield tar
            frames.finish()
        partial.replace(file)
    except OSError as error:
        raise ResultsError(f"{file}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def add(tar: tarfile.TarFile, name: str, content: bytes, executable: bool = False) -> None:
    """Add one file, without owner and date."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    member.mode = 0o755 if executable else 0o644
    tar.addfile(member, io.BytesIO(content))


def pack(machine: Machine, file: Path, level: int = LEVEL) -> None:
    """Write ``machine`` to ``file``. ``level`` is the level of Zstandard."""
    for name in machine.files:
        sealed.check_file(machine, name)
    with writing(file, level) as tar:
        add_machine(tar, machine)


def add_machine(tar: tarfile.TarFile, machine: Machine, below: str = "") -> None:
    """Add the machine's files. Its hash comes first, so that a damaged description is not taken for
    another machine."""
    add(tar, below + IDENTITY, machine.id.encode())
    add(tar, below + DESCRIPTION, content(machine.folder / DESCRIPTION))
    for name in sorted(machine.files):
        with opened(machine.folder / name) as file:
            add(tar, below + name, file.read(), executable=name == KERNEL)


@contextmanager
def reading(file: Path) -> Iterator[Iterator[tuple[tarfile.TarInfo, IO[bytes]]]]:
    """Yield the regular files of an archive, one after the other.

    Raises `Damaged` for an archive that is damaged or holds anything else.
    """
    import pyarrow as pa  # here, as in `_Frames`

    try:
        with (
            _beginning(file) as own,
            # Arrow opens the file itself. With Python's file, its threads would call back while
            # Python ends.
            pa.OSFile(f"/proc/self/fd/{own.fileno()}", "rb") as raw,
            pa.CompressedInputStream(raw, "zstd") as plain,
            tarfile.open(fileobj=plain, mode="r|", tarinfo=_Header) as tar,
        ):
            yield _members(tar, file)
    except FileNotFoundError:
        raise ResultsError(f"{file}: is not there; name a file that hoplab packed") from None
    except (OSError, tarfile.TarError, pa.ArrowException, EOFError, ValueError) as error:
        told = (isinstance(error, OSError) and error.strerror) or str(error)
        reason = told.strip().splitlines() or [type(error).__name__]
        raise Damaged(f"{file}: is damaged or no pack of hoplab: {reason[0][:200]}") from None


def _beginning(file: Path) -> IO[bytes]:
    """Open a file that begins as a pack does. Its first octets are read without waiting, since
    Arrow would wait for them, and no signal would end that."""
    own = opened(file)
    if own.read(len(ZSTD)) != ZSTD:
        own.close()
        raise ValueError("it is not compressed by zstd")
    return own


class _Header(tarfile.TarInfo):
    """Takes files, and before a file a name that is too long for a header, as `writing` writes
    them.

    Everything else that tar has (pax, sparse files, names before names) is refused by its header:
    tarfile would read it whole.
    """

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        before = getattr(tar, "long_name", False)
        if self.type == tarfile.GNUTYPE_LONGNAME:
            if before or not 0 < self.size <= LONGEST_NAME:
                raise tarfile.ReadError(f"a name of {self.size} bytes")
        elif self.size < 0 or self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise tarfile.ReadError(f"{self.name[:80]!r} has no place in a pack")
        tar.long_name = self.type == tarfile.GNUTYPE_LONGNAME  # type: ignore[attr-defined]
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]


def _members(tar: tarfile.TarFile, file: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    left, count = LARGEST_ARCHIVE_BYTES, 0
    for member in tar:
        left, count = left - member.size, count + 1
        tar.members = []  # type: ignore[attr-defined]  # which tarfile would keep to the end
        if left < 0 or count > MOST_MEMBERS:
            raise Damaged(
                f"{file}: holds more than {LARGEST_ARCHIVE_BYTES >> 30} GiB or {MOST_MEMBERS} files"
            )
        content = tar.extractfile(member) if member.isreg() else None
        if content is None or not sealed.NAME.fullmatch(member.name):
            raise Damaged(f"{file}: is damaged: {member.name[:80]!r} has no place in a pack")
        yield member, content


def unpack(file: Path) -> Machine:
    """Put the machine of ``file`` into the store, and return it."""
    with reading(file) as members:
        return read_machine(members, file)


def read_machine(
    members: Iterator[tuple[tarfile.TarInfo, IO[bytes]]], file: Path, below: str = ""
) -> Machine:
    """Take a machine from an archive's next members."""
    identity = _head(members, below + IDENTITY, LARGEST_IDENTITY_BYTES, file)
    text = _head(members, below + DESCRIPTION, sealed.LARGEST_DESCRIPTION_BYTES, file)
    description = sealed.parse(text, file)
    if sealed.identity(description).encode() != identity:
        raise Damaged(f"{file}: is damaged: {DESCRIPTION} has not the hash that it should")
    missing = set(description["files"])
    with store.new_folder() as folder:
        while missing:
            member, content = next(members, (None, None))
            if member is None or content is None:
                raise Damaged(f"{file}: is damaged: it ends before {min(missing)}")
            name = member.name.removeprefix(below)
            if name not in missing:
                raise Damaged(f"{file}: is damaged: {member.name[:80]!r} has no place in it")
            missing.remove(name)
            _take(content, folder / name, description["files"][name], file)
        (folder / KERNEL).chmod(0o755)
        return store.adopt(folder, description)


def _head(
    members: Iterator[tuple[tarfile.TarInfo, IO[bytes]]], name: str, limit: int, file: Path
) -> bytes:
    """Return the content of the next member, which must be called ``name``."""
    member, content = next(members, (None, None))
    if member is None or content is None or member.name != name:
        raise Damaged(f"{file}: is no machine's pack, or damaged: {name} is not in its place")
    if member.size > limit:
        raise Damaged(f"{file}: is damaged: its {name} has {member.size} bytes")
    return content.read()


@contextmanager
def new_file(target: Path, variable: str = "HOPLAB_CACHE") -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes to the new file. A full disk is not reported as damage of the
    file that is read. ``variable`` names the setting that moves the folder."""

    def write(chunk: bytes) -> None:
        with store.writing_to(target.parent, variable):
            out.write(chunk)

    with store.writing_to(target.parent, variable):
        target.parent.mkdir(parents=True, exist_ok=True)
    out = target.open("xb")
    try:
        yield write
    finally:
        with store.writing_to(target.parent, variable):
            out.close()


def _take(content: IO[bytes], target: Path, facts: dict[str, object], file: Path) -> None:
    """Copy a file of known size and hash."""
    sha, left = hashlib.sha256(), int(str(facts["size"]))
    with new_file(target) as write:
        while chunk := content.read(min(CHUNK_BYTES, left + 1)):
            left -= len(chunk)
            if left < 0:
                break
            sha.update(chunk)
            write(chunk)
    if left != 0 or sha.hexdigest() != facts["sha256"]:
        raise Damaged(f"{file}: is damaged: {target.name} has not the bytes that it should")
