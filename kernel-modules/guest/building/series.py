# SPDX-License-Identifier: GPL-2.0-only
"""Which patches and options a kernel gets, by ``series.toml`` and the names of the fragments."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from building import GUEST, Failed, Refused

Version = tuple[int, int]
TOUCHED = re.compile(r"^(?:---|\+\+\+) (\S+)", re.MULTILINE)
REJECTED = re.compile(r"^(?:checking|patching) file '?(.+?)'?$", re.MULTILINE)
FROM = re.compile(r"(?P<name>.+?)(?:-(?P<version>\d+\.\d+))?\.config")


def version(text: str) -> Version:
    """Return a kernel's first two numbers."""
    first, second = text.split(".")[:2]
    return int(first), int(second)


@dataclass(frozen=True)
class Patch:
    """A patch with the file that fits a kernel. ``tier`` is empty for a user's own."""

    name: str
    tier: str
    file: Path

    def touched(self) -> list[str]:
        """Return the files of the kernel's tree that it changes or adds."""
        names = TOUCHED.findall(self.file.read_text(encoding="utf-8", errors="replace"))
        return sorted({name.partition("/")[2] for name in names if name != "/dev/null"})


@dataclass(frozen=True)
class Series:
    """``series.toml``."""

    default: str
    oldest: Version
    needed: dict[str, bool]
    rows: list[dict[str, object]]
    folder: Path

    def patches(self, kernel: Version, without: Iterable[str] = ()) -> list[Patch]:
        """Return the patches for a kernel in their order, but for the tiers ``without``."""
        chosen = []
        for row in self.rows:
            name, tier = str(row["name"]), str(row["tier"])
            kernels = row["kernels"]
            assert isinstance(kernels, list)
            fitting = [first for first in kernels if version(first) <= kernel]
            if tier in without or not fitting:
                continue
            if version(fitting[-1]) < version(str(row.get("until", "0.0"))) <= kernel:
                continue
            suffix = "" if fitting[-1] == kernels[0] else f"-{fitting[-1]}"
            chosen.append(Patch(name, tier, self.folder / "hooks" / f"{name}{suffix}.patch"))
        return chosen

    def fragments(self, kernel: Version) -> list[Path]:
        """Return the fragments of the configuration: ``NAME.config``, and ``NAME-VERSION.config``
        from that version on."""
        found = []
        for path in sorted((self.folder / "fragments").glob("*.config")):
            named = FROM.fullmatch(path.name)
            assert named is not None
            if named["version"] is None or version(named["version"]) <= kernel:
                found.append(path)
        return found


def read(folder: Path = GUEST) -> Series:
    """Return the series of a folder."""
    found = tomllib.loads((folder / "series.toml").read_text(encoding="utf-8"))
    needed = {name: bool(tier["needed"]) for name, tier in found["tiers"].items()}
    return Series(found["default"], version(found["oldest"]), needed, found["patch"], folder)


@dataclass(frozen=True)
class Patched:
    """Patched files of a tree: ``content`` by path, None for a file that a patch removes."""

    patches: list[Patch]
    left_out: dict[str, str]
    """Why, by tier."""
    content: dict[str, bytes | None]

    @property
    def tiers(self) -> list[str]:
        return list(dict.fromkeys(patch.tier for patch in self.patches if patch.tier))


def patched(
    series: Series,
    kernel: Version,
    original: Callable[[str], bytes | None],
    own: Sequence[Path] = (),
    whole: bool = False,
) -> Patched:
    """Apply the series, then a user's ``own`` patches, to the files that ``original`` returns.

    A tier that is not needed is left out if one of its patches does not apply, unless ``whole``
    asks for every tier. Raises `Failed` for another patch, which it names with its file and tier.
    """
    left_out: dict[str, str] = {}
    while True:
        patches = series.patches(kernel, left_out)
        patches += [Patch(path.name, "", path) for path in own]
        try:
            return Patched(patches, left_out, _applied(patches, original))
        except _Rejected as rejected:
            tier = rejected.patch.tier
            if not rejected.file:
                raise Failed(f"{rejected.patch.file}: {rejected.reason}") from None
            if whole or not tier or series.needed[tier]:
                what = f" (tier {tier})" if tier else ""
                raise Failed(
                    f"{rejected.patch.file.name}{what} does not apply to {rejected.file} of kernel "
                    f"{kernel[0]}.{kernel[1]}: {rejected.reason}"
                ) from None
            left_out[tier] = f"{rejected.patch.file.name} does not apply to {rejected.file}"


class _Rejected(Exception):
    def __init__(self, patch: Patch, file: str, reason: str) -> None:
        super().__init__(reason)
        self.patch, self.file, self.reason = patch, file, reason


def _applied(
    patches: Sequence[Patch], original: Callable[[str], bytes | None]
) -> dict[str, bytes | None]:
    with tempfile.TemporaryDirectory(prefix="hoplab-patches-") as name:
        folder = Path(name)
        seen: set[str] = set()
        for patch in patches:
            touched = patch.touched()
            if not touched or any(".." in path.split("/") for path in touched):
                raise _Rejected(patch, "", "is no patch, as 'git diff' writes one")
            for path in touched:
                if path not in seen and (content := original(path)) is not None:
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(content)
            seen.update(touched)
            # No fuzz: a hunk that almost fits may land in a wrong place.
            done = subprocess.run(
                ["patch", "-p1", "-F0", "--batch", "--forward", "--no-backup-if-mismatch", "-r-"],
                cwd=folder,
                stdin=patch.file.open("rb"),
                capture_output=True,
                text=True,
                errors="replace",
                env={"LC_ALL": "C", "PATH": _path()},
            )
            if done.returncode != 0:
                raise _Rejected(patch, *_complaint(done.stdout, touched))
        return {path: _content(folder / path) for path in sorted(seen)}


def _path() -> str:
    tool = shutil.which("patch")
    if tool is None:
        raise Refused("patch is missing; install it with 'apt-get install patch'")
    return str(Path(tool).parent)


def _complaint(said: str, touched: Sequence[str]) -> tuple[str, str]:
    """Return the first file that a patch does not fit, and why."""
    file = touched[0]
    for line in said.splitlines():
        if named := REJECTED.fullmatch(line):
            file = named[1]
        elif "FAILED" in line or "can't find file" in line or "malformed" in line:
            return file, line.strip().removesuffix(".")
        elif "previously applied" in line:
            return file, "it is there already"
    return file, (said.strip().splitlines() or ["patch failed"])[-1]


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
