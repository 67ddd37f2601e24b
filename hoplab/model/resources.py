# SPDX-License-Identifier: Apache-2.0
"""Where the package's own files are: profiles, topologies, daemons, the guest kernel's build.

An installed package carries what it needs inside itself. A checkout is one case of it: there the
topologies and the studies are folders of the project and the daemons are what the last build left.
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
PROJECT = PACKAGE.parent
"""What holds the package: the checkout, or the folder that it is installed in."""
KERNEL_BUILD = PROJECT / "kernel-modules" / "guest" / "build"
"""Builds a checkout's guest kernel and tells where it is; an installed package has none."""
IS_CHECKOUT = KERNEL_BUILD.exists()


def _own(installed: str, in_checkout: str) -> Path:
    return PROJECT / in_checkout if IS_CHECKOUT else PACKAGE / installed


PROFILES = PACKAGE / "model" / "scenario" / "profiles"
PRESETS = PACKAGE / "model" / "scenario" / "presets"
TOPOLOGIES = _own("topologies", "topologies")
EXPERIMENTS = _own("experiments", "experiments")
BINARIES = _own("bin", "build/bin")
