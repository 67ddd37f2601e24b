# SPDX-License-Identifier: GPL-2.0-only
"""A build folder that stays: it follows a source by the files that changed, so that ``make``
compiles those and no other."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from building.series import Patched, Series, patched
from building.source import Package, Source, Tree

OBJECTS = (".o", ".a", ".ko")


def _is_whole(path: Path) -> bool:
    """Return whether an object is complete: kbuild writes its command's file when it is."""
    command = path.with_name(f".{path.name}.cmd")
    return command.is_file() and command.stat().st_mtime_ns >= path.lstat().st_mtime_ns


PROGRAM = "100755"
"""Git's mode of a file that can be executed."""


class Folder:
    """A build folder with a note beside it of what lies there: hashes of a tree's files, and the
    files that patches touched. The folder ``NAME.pristine`` keeps those of a package."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._note = place.with_name(f"{place.name}.json")
        self._pristine = place.with_name(f"{place.name}.pristine")

    def follow(self, source: Source, series: Series, own: list[Path]) -> Patched:
        """Bring the folder to the source with the series' and the user's own patches. Raises
        `Refused` before anything changes there if a patch does not apply."""
        note = self._read()
        # A tree is followed file by file, a package is one whole.
        lies = "tree" if isinstance(source, Tree) else source.identity
        if note.get("lies") != lies or not self.place.is_dir():
            self._begin(source)
            note = {"lies": lies, "files": {}, "touched": []}
            # After a patch that does not apply, the next build need not unpack all again.
            self._write(note)
        original = source.original if isinstance(source, Tree) else self._original
        whole = isinstance(source, Package)
        result = patched(series, source.release, original, own, whole)
        kept = set(result.content)
        if isinstance(source, Tree):
            self._follow_files(source, note, kept)
        again = {path: original(path) for path in note["touched"] if path not in kept}
        # If this is interrupted, the next build begins with what may have been touched.
        note["touched"] = sorted({*note["touched"], *kept})
        self._write(note)
        for path, content in {**again, **result.content}.items():
            self.put(path, content)
            # A patched file is not copied, so it does not have the tree's mode yet.
            if isinstance(source, Tree) and source.files.get(path, "").startswith(PROGRAM):
                (self.place / path).chmod(0o755)
        note["touched"] = sorted(kept)
        self._write(note)
        return result

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Compile here meanwhile. If a build was killed here, what its compilers were writing is
        removed first. For make goes by a file's date, and that is newer than its source's."""
        mark = self.place.with_name(f"{self.place.name}.compiling")
        if mark.exists():
            for path in self.place.rglob("*"):
                if path.suffix in OBJECTS and not _is_whole(path):
                    path.unlink()
        mark.touch()
        try:
            yield
        except Exception:
            mark.unlink()  # make itself has ended, and tidied up
            raise
        mark.unlink()

    def put(self, path: str, content: bytes | None) -> None:
        """Write a file that differs, and leave another alone, so that its date stays."""
        target = self.place / path
        if content is None:
            target.unlink(missing_ok=True)
        elif not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def _begin(self, source: Source) -> None:
        for old in (self.place, self._pristine):
            shutil.rmtree(old, ignore_errors=True)
        self._note.unlink(missing_ok=True)
        self._pristine.mkdir(parents=True)
        if isinstance(source, Package):
            new = self.place.with_name(f"{self.place.name}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            source.unpack(new)
            new.rename(self.place)
        else:
            self.place.mkdir()

    def _original(self, path: str) -> bytes | None:
        """Return a package's file as it was unpacked; it is kept before a patch can change it."""
        kept, absent = self._pristine / path, self._pristine / f"{path}.absent"
        if not kept.is_file() and not absent.is_file():
            now = self.place / path
            kept.parent.mkdir(parents=True, exist_ok=True)
            if now.is_file():
                shutil.copyfile(now, kept)
            else:
                absent.touch()
        return kept.read_bytes() if kept.is_file() else None

    def _follow_files(self, source: Tree, note: dict[str, Any], patched: set[str]) -> None:
        """Copy what changed in the tree but for patched files, and remove what is gone there."""
        files: dict[str, str] = note["files"]
        changed = {p: h for p, h in source.files.items() if p not in patched and files.get(p) != h}
        gone = [path for path in files if path not in source.files]
        for path in [*changed, *gone, *patched]:
            files.pop(path, None)
        self._write(note)
        for path in gone:
            (self.place / path).unlink(missing_ok=True)
        for path, what in changed.items():
            self._copy(source.folder / path, self.place / path, what)
        files.update(changed)

    def _copy(self, source: Path, target: Path, what: str) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.exists():
            target.unlink()
        if what.startswith("120000"):
            target.symlink_to(source.readlink())
            return
        # With today's date: make compares it with those of objects.
        shutil.copyfile(source, target)
        target.chmod(0o755 if what.startswith(PROGRAM) else 0o644)

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            return {}

    def _write(self, note: Mapping[str, Any]) -> None:
        partial = self._note.with_suffix(".new")
        partial.write_text(json.dumps(note), encoding="utf-8")
        partial.replace(self._note)
