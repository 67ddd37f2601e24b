# SPDX-License-Identifier: Apache-2.0
"""Stand-by on link failure notices (kernel-modules/elfn): in a guest, with real sockets."""

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from hoplab.machine import kernel
from hoplab.resources import PROJECT

Hoplab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What tests/emulation/guest/elfn.py found in one guest."""
    folder = tmp_path_factory.mktemp("elfn")
    # A guest sees the folder that it was started in, not every place where the cache may be.
    (module,) = [path for path in kernel.modules() if path.name == "elfn.ko"]
    done = subprocess.run(
        [
            str(PROJECT / ".venv" / "bin" / "hoplab"),
            "exec",
            "--",
            str(PROJECT / ".venv" / "bin" / "python"),
            str(PROJECT / "tests" / "emulation" / "guest" / "elfn.py"),
            str(shutil.copy(module, folder)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_variant_stands_by_and_goes_on(answer: dict[str, Any]) -> None:
    """Six seconds without a route cost a connection nothing that it had before."""
    assert len(answer["variants"]) == 9
    for found in answer["variants"]:
        before, during, after = found["before"], found["during"], found["after"]
        # Probes: at the first timeout (224 ms), then every 500 ms, and the same segment each time.
        assert found["probes"] == 12 and found["probed_first_only"], found
        assert during["unacked"] == before["unacked"] and during["rto"] == before["rto"], found
        # Back within a probe interval and two round trips of 20 ms.
        assert found["moved"] and found["moved_s"] < 0.5 + 2 * 0.02 + 0.01, found
        assert found["kept"] == [before["cwnd"], before["ssthresh"]], found
        assert after["timeouts"] == 0 and after["ssthresh"] == before["ssthresh"], found
        # The probe that got through, and each of the others once.
        assert found["resent_once"] and found["resent"] <= before["unacked"], found
        assert found["events"] == ["standby"] + 13 * ["probe"] + ["resume"], found
        assert found["reason"] == "acknowledged" and found["complete"], found


def test_the_kernel_has_nothing_to_complain_of(answer: dict[str, Any]) -> None:
    assert answer["complaints"] == []
