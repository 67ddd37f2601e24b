# SPDX-License-Identifier: Apache-2.0
"""A run says how far it is for each second, also for those that the lab sleeps through."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from hoplab.host import results
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, Progress, RunRequest, perform
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from tests.emulation.test_originals import machine_at_hand

DURATION_S = 70
"""The lab sleeps longer than a second after eight, and wakes at 60 in any case."""
EACH_SECOND = [*range(1, DURATION_S + 1)]


def told(out: Path, interval_s: float) -> list[Progress]:
    """What a run says that takes samples at this interval."""
    document = {
        "duration_s": DURATION_S,
        "topology": {"kind": "chain", "stations": 3},
        "measure": {"interval_s": interval_s},
        "flow": [{"source": "n0", "destination": "n2"}],
    }
    said: list[Progress] = []
    request = RunRequest(resolve(parse(document, "progress")), Sealed(machine_at_hand()), out=out)
    perform(request, Observers(on_progress=said.append))
    return said


def test_each_second_has_the_goodput_of_the_last_one(tmp_path: Path) -> None:
    said = told(tmp_path / "run", 0.1)
    assert [progress.t_s for progress in said] == EACH_SECOND
    rows = results.load(tmp_path / "run").rows("tcp")
    octets = {row["t_s"]: row["delivered_bytes"] for row in rows}
    for progress in said[1:]:
        came = octets[progress.t_s] - octets[progress.t_s - 1]
        assert progress.goodput_kbps == round(came * 8e-3, 1)


def test_seconds_between_two_samples_are_told_too(tmp_path: Path) -> None:
    assert [progress.t_s for progress in told(tmp_path / "run", 0.3)] == EACH_SECOND


def test_a_run_loads_no_numpy(tmp_path: Path) -> None:
    """Arrow and Plotly load it where it is installed, for which a run has no use."""
    assert importlib.util.find_spec("numpy") is not None
    document = 'duration_s = 1\n[topology]\nkind = "chain"\nstations = 2\n'
    (tmp_path / "scenario.toml").write_text(document)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hoplab", "run", "scenario.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"pyarrow.lib", "plotly.graph_objects"} <= loaded
    assert not any(name.startswith("numpy.") for name in loaded)
