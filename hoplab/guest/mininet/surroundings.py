# SPDX-License-Identifier: Apache-2.0
"""What programs that import Mininet-WiFi are started with, and how a lab is told of it."""

from __future__ import annotations

import os

from hoplab.model.resources import PACKAGE

VARIABLE = "HOPLAB_MININET_WIFI"
"""The folder of a Mininet-WiFi that is not installed."""
PYTHON = "HOPLAB_MININET_PYTHON"
"""Tells a lab which interpreter has it."""
INSIDE = PACKAGE / "guest" / "mininet" / "inside"
"""What the interpreter that has it is to run."""
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def surroundings(tree: str | None) -> dict[str, str]:
    """Environment of a program of `INSIDE` that imports it."""
    path = [str(INSIDE / "site"), *([tree] if tree else [])]
    programs = [str(INSIDE / "bin"), os.environ.get("PATH", ""), *SBIN]
    kept = {k: v for k, v in os.environ.items() if k not in ("HOPLAB_MEDIUM", "VIRTUAL_ENV")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path),
        "PATH": os.pathsep.join(programs),
        "MPLBACKEND": "Agg",
    }
