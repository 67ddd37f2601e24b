# SPDX-License-Identifier: Apache-2.0
"""Features of the host that could reach a guest without a file, noted with every run.

None of it should matter (``docs/reproducibility.md``). If a digest still differs, these notes show
where to look.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FIELDS = {"model name": "processor", "flags": "features"}


def found() -> dict[str, Any]:
    """Return processor with its features, cores, memory, and kernel of the host."""
    facts: dict[str, Any] = {
        "kernel": " ".join((os.uname().sysname, os.uname().release)),
        "cores": os.cpu_count(),
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
    }
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return facts
    for line in lines:
        name, _, value = line.partition(":")
        key = FIELDS.get(name.strip())
        if key is not None:
            facts.setdefault(key, value.strip())
    return facts
