# SPDX-License-Identifier: Apache-2.0
"""The environment of programs that import Mininet-WiFi, and of a lab that starts them."""

from __future__ import annotations

import os

from hoplab.model.resources import PACKAGE

VARIABLE = "HOPLAB_MININET_WIFI"
"""The folder of a Mininet-WiFi that is not installed."""
PYTHON = "HOPLAB_MININET_PYTHON"
"""Names for a lab the interpreter that has Mininet-WiFi."""
INSIDE = PACKAGE / "guest" / "mininet" / "inside"
"""Programs for the interpreter that has Mininet-WiFi."""
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def surroundings(tree: str | None) -> dict[str, str]:
    """Return the environment of a program of `INSIDE` that imports Mininet-WiFi."""
    path = [str(INSIDE / "site"), *([tree] if tree else [])]
    programs = [str(INSIDE / "bin"), os.environ.get("PATH", ""), *SBIN]
    kept = {k: v for k, v in os.environ.items() if k not in ("HOPLAB_MEDIUM", "VIRTUAL_ENV")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path),
        "PATH": os.pathsep.join(programs),
        "MPLBACKEND": "Agg",
    }
