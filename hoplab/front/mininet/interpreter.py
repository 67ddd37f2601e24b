# SPDX-License-Identifier: Apache-2.0
"""Hoplab's own interpreter, for scripts that run in another. Only the standard library, because
scripts import this."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from hoplab.model.resources import PROJECT


def command() -> list[str]:
    """Return Hoplab's own interpreter: a checkout's, else the one that has the package."""
    own = PROJECT / ".venv" / "bin" / "python"
    # Without site, since hooks for scripts do not belong here, and packages' paths are the host's.
    return [str(own) if own.exists() else sys.executable, "-S", "-P"]


def environment() -> dict[str, str]:
    """Return the environment in which it finds Hoplab and its packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    of_checkout = PROJECT / ".venv" / "lib" / version / "site-packages"
    packages = of_checkout if of_checkout.exists() else Path(sysconfig.get_path("purelib"))
    return {**os.environ, "PYTHONPATH": f"{PROJECT}:{packages}"}
