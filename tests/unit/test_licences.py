# SPDX-License-Identifier: Apache-2.0
"""Every source file says its licence."""

import subprocess

from hoplab.model.resources import PROJECT

SUFFIXES = {".py", ".rs", ".toml", ".c", ".h", ".config", ".css", ".j2", ".js", ".sh"}


def test_spdx_lines() -> None:
    names = subprocess.run(
        ["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    files = [PROJECT / name for name in names]
    sources = [path for path in files if path.suffix in SUFFIXES and path.exists()]
    assert len(sources) > 30
    for path in sources:
        licence = "GPL-2.0-only" if "kernel-modules" in path.parts else "Apache-2.0"
        head = path.read_text(encoding="utf-8")[:400]
        if path.name == "pyproject.toml" or path.suffix != ".lock":
            assert f"SPDX-License-Identifier: {licence}" in head, path.relative_to(PROJECT)
