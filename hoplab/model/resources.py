# SPDX-License-Identifier: Apache-2.0
"""Paths of the package's own files: profiles, topologies, daemons, the guest kernel's build.

An installed package has its files inside itself. In a checkout, the topologies and the studies are
folders of the project. The daemons there are those of the last build.
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
PROJECT = PACKAGE.parent
"""The folder that holds the package: the checkout, or the folder of the installation."""
KERNEL_BUILD = PROJECT / "kernel-modules" / "guest" / "build"
"""Builds a checkout's guest kernel and prints its path. An installed package has none."""
IS_CHECKOUT = KERNEL_BUILD.exists()


def _own(installed: str, in_checkout: str) -> Path:
    return PROJECT / in_checkout if IS_CHECKOUT else PACKAGE / installed


PROFILES = PACKAGE / "model" / "resolve" / "profiles"
PRESETS = PACKAGE / "model" / "resolve" / "presets"
TOPOLOGIES = _own("topologies", "topologies")
EXPERIMENTS = _own("experiments", "experiments")
DOCS = _own("docs", "docs")
EXAMPLES = DOCS / "examples"
BINARIES = _own("bin", "build/bin")
