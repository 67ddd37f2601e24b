# SPDX-License-Identifier: Apache-2.0
"""What these tests share: a shell, and stations made of plain radios."""

import subprocess

import pytest


def sh(command: str, station: str | None = None) -> str:
    """Output of a command line, at a station; raises with all that it said where it fails."""
    words = ["ip", "netns", "exec", station] if station else []
    done = subprocess.run(
        [*words, "sh", "-ec", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stdout}"
    return done.stdout


@pytest.fixture
def stations():
    """As many namespaces as asked for, each with a radio: sta0 has wlan0 …"""

    def make(count: int) -> list[str]:
        names = [f"sta{i}" for i in range(count)]
        for i, name in enumerate(names):
            sh(f"ip netns add {name}; iw phy phy{i} set netns name {name}")
            sh(f"ip addr add 10.1.0.{i + 1}/24 dev wlan{i}", name)
        return names

    return make
