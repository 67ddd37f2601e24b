# SPDX-License-Identifier: Apache-2.0
"""Find the guest kernel that `kernel-modules/guest/build` made.

``python -m hoplab.host.machine.kernel fetch`` brings the default kernel's source into the cache.
"""

from __future__ import annotations

import json
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from hoplab.host.machine import ahead, archive, store
from hoplab.model.errors import HoplabError, MissingTool
from hoplab.model.resources import KERNEL_BUILD, PROJECT

LOCK = PROJECT / "locks" / "kernels.lock"
"""Packages with the sources of kernels."""
SERIES = KERNEL_BUILD.with_name("series.toml")
SOURCE = "linux-source-"


@cache
def folder() -> Path:
    """Return the cache folder for this checkout's kernel source, options and patches."""
    answer = ahead.answer(ahead.KERNEL)
    if answer.returncode != 0:
        raise MissingTool(answer.stderr.strip() or f"{KERNEL_BUILD}: failed; run 'make setup'")
    return Path(answer.stdout.strip())


def path() -> Path:
    """Return the guest kernel's executable. Raises `MissingTool` if it is not built."""
    kernel = folder() / "linux"
    if not kernel.exists():
        raise MissingTool(f"guest kernel: {kernel} is not there; build it with 'make setup'")
    return kernel


def modules() -> list[Path]:
    """Return the TCP variants' modules, built for this kernel."""
    return sorted((folder() / "modules").glob("*.ko"))


def facts() -> dict[str, Any]:
    """Return what the kernel is: version, source, tiers of patches."""
    found: dict[str, Any] = json.loads((folder() / "kernel.json").read_text(encoding="utf-8"))
    return found


def default(series: Path = SERIES) -> str:
    """Return the name of the kernel that runs take if none is named, such as ``6.12``."""
    return str(tomllib.loads(series.read_text(encoding="utf-8"))["default"])


def fetch(name: str, lock: Path = LOCK) -> Path:
    """Return the package with a kernel's source, which is downloaded if it is not in the cache.
    Raises `MissingTool` if it cannot be had."""
    cached = store.cache() / "packages"
    with store.writing_to(cached):
        (fetched,) = archive.fetch(lock, cached, {SOURCE + name}).values()
    return fetched


def packages(result: Path | None = None) -> list[dict[str, str]]:
    """Return the source and the compiler of a built kernel, this checkout's if none is named."""
    lines = ((result or folder()) / "made-from").read_text(encoding="utf-8").splitlines()
    found = [line.split(" ", 3) for line in lines]
    return [{"kind": k, "name": n, "version": v, "sha256": h} for k, n, h, v in found]


def main(arguments: list[str]) -> int:
    try:
        fetch(default())
    except HoplabError as error:
        print(f"guest kernel: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
