# SPDX-License-Identifier: Apache-2.0
"""Find the guest kernel that `kernel-modules/guest/build` made."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from hoplab.model.errors import MissingTool
from hoplab.model.resources import KERNEL_BUILD


@cache
def folder() -> Path:
    """Return the cache folder for this checkout's kernel source, options and patches."""
    answer = subprocess.run(
        [str(KERNEL_BUILD), "--print-path"], capture_output=True, text=True, check=False
    )
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


def packages() -> list[dict[str, str]]:
    """Return the kernel's source and the compiler that built it."""
    lines = (folder() / "made-from").read_text(encoding="utf-8").splitlines()
    found = [line.split(" ", 3) for line in lines]
    return [{"kind": k, "name": n, "version": v, "sha256": h} for k, n, h, v in found]
