# SPDX-License-Identifier: Apache-2.0
"""Children of this process, as guests are."""

import os
import subprocess

import pytest

from hoplab.host.machine import processes


def test_a_child_is_one_until_it_is_reaped() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        assert processes.is_child(child.pid)
        with pytest.raises(subprocess.TimeoutExpired):
            processes.reap(child.pid, 0.0)
        child.kill()
        assert processes.reap(child.pid, 60.0) == -9
        assert not processes.is_child(child.pid)


def test_another_process_is_no_child() -> None:
    assert not processes.is_child(os.getppid())
    assert not processes.is_child(os.getpid())
    assert not processes.is_child(1 << 22)
