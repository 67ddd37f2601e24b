# SPDX-License-Identifier: Apache-2.0
"""The modules under many sockets at once, unloaded and loaded again; building for this host."""

import shutil
import subprocess
from pathlib import Path

from hoplab.host.machine import kernel
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import in_guest


def test_many_sockets_loss_and_unloading(tmp_path: Path) -> None:
    """192 transfers over 3 % loss with packets out of order arrive; the kernel warns of nothing."""
    # A guest sees the folder that it was started in, not every place where the cache may be.
    variants = [path for path in kernel.modules() if path.name.startswith("tcp_")]
    modules = [shutil.copy(path, tmp_path) for path in variants]
    answer = in_guest(tmp_path, "modules.py", *map(str, modules))
    assert answer["complaints"] == []
    assert answer["timed_out"] == [True] * 4
    assert answer["intact"] == answer["expected"]
    assert answer["again"] == 4
    assert answer["unloaded_in_use"] is False
    assert answer["unloaded"] == [True] * 4
    assert answer["told"][0] > 0 and answer["told"][-1] < 2**32


def test_missing_headers_are_one_clear_line() -> None:
    done = subprocess.run(
        ["make", "-s", "-C", str(PROJECT / "kernel-modules"), "KERNEL=0.0.0-none"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    message = done.stderr.splitlines()[0]
    assert "no headers of kernel 0.0.0-none" in message
    assert "apt-get install linux-headers-0.0.0-none" in message
