# SPDX-License-Identifier: Apache-2.0
"""Guests that processes start side by side, knowing nothing of each other, take a core each."""

import os
import subprocess
import sys
from pathlib import Path

from hoplab.model.resources import PROJECT

HOLD = "from hoplab.host.machine.cores import Core; print(Core().number, flush=True); input()"


def test_each_process_has_a_core_of_its_own(tmp_path: Path) -> None:
    """As many as there are cores; the locks are not those of other tests' guests."""
    tmp_path.chmod(0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    allowed = os.sched_getaffinity(0)
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in allowed
    ]
    found = [int(holder.stdout.readline()) for holder in holders if holder.stdout]
    for holder in holders:
        holder.communicate("\n")
    assert sorted(found) == sorted(allowed)
