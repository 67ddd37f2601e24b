# SPDX-License-Identifier: Apache-2.0
"""Where the checkout keeps what is not Python."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TOPOLOGIES = PROJECT / "topologies"
PROFILES = PROJECT / "hoplab" / "scenario" / "profiles"
PRESETS = PROJECT / "hoplab" / "scenario" / "presets"
BINARIES = PROJECT / "build" / "bin"
