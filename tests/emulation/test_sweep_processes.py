# SPDX-License-Identifier: Apache-2.0
"""Workers that are processes of the command: they die, and they are given up in mid-run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hoplab.host.machine import select
from hoplab.many.store.key import evaluation, key_of, text_of
from hoplab.many.sweep import api as sweeps
from hoplab.many.sweep.processes import Processes
from hoplab.many.sweep.task import Request
from hoplab.model.errors import ScenarioError

PAIR = {
    "duration_s": 2,
    "topology": {"kind": "pair"},
    "flow": [{"source": "n0", "destination": "n1"}],
}
LONG = {**PAIR, "duration_s": 3600}


def request(document: dict[str, object], seed: int = 1) -> Request:
    text = text_of(sweeps.point(document, seed=seed).scenario())
    identity = select.chosen().id
    return Request(key_of(text, identity), identity, text, ("flows",), evaluation())


def _runs(folder: Path) -> list[Path]:
    """Records of runs under way."""
    return list(folder.glob("hoplab-sweep-*/hoplab-sweep-*/*/run/raw/*"))


def _until(holds: Callable[[], object]) -> None:
    while not holds():
        time.sleep(0.02)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, which workers learn of when they begin."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_only_the_runs_of_a_worker_that_died_are_lost(scratch: Path) -> None:
    machine = select.chosen()
    with Processes(2) as workers:
        assert workers.present() == {"0": 1, "1": 1}
        long, short = request(LONG), request(PAIR)
        lost = [workers.submit(long, machine, "a")]
        kept = [workers.submit(short, machine, "b")]
        lost.append(workers.submit(short, machine, "c"))  # behind the long one
        kept.append(workers.submit(request(PAIR, 2), machine, "d"))
        answers = [workers.answer_of(future) for future in kept]
        assert all(answer is not None and answer.entry for answer in answers)
        _until(lambda: _runs(scratch))
        os.kill(workers._workers[0]._pid.result(), signal.SIGKILL)
        assert [workers.answer_of(future) for future in lost] == [None, None]
        again = [workers.submit(request(PAIR, seed), machine, "e") for seed in (3, 4, 5)]
        assert all(workers.answer_of(future) is not None for future in again)
    assert list(scratch.glob("hoplab-sweep-*")) == []


def test_a_run_is_given_up_when_the_workers_are(scratch: Path) -> None:
    machine = select.chosen()
    with Processes(1) as workers:
        going, waiting = (workers.submit(request(LONG, seed), machine, "") for seed in (1, 2))
        _until(lambda: _runs(scratch))
    assert going.done() and waiting.done()
    assert list(scratch.glob("hoplab-sweep-*")) == []


SWEEP = f"""
import sys
from hoplab import sweep
if __name__ == "__main__":
    sweep.run_all([sweep.point({LONG!r}, seed=1)], store=sys.argv[1], workers=1)
"""


def test_workers_end_with_their_command(scratch: Path) -> None:
    program = scratch / "program.py"
    program.write_text(SWEEP)
    command = subprocess.Popen(
        [sys.executable, str(program), str(scratch / "store")],
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    assert command.stderr is not None
    _until(lambda: _runs(scratch))
    command.kill()
    assert b"Traceback" not in command.stderr.read()  # until all that inherited it have ended
    command.wait()
    command.stderr.close()
    assert not _runs(scratch)


def test_settings_for_no_cluster_are_refused() -> None:
    with pytest.raises(ScenarioError, match="--cluster-set: is for a cluster of Dask's; name it"):
        sweeps.Cluster(options={"hosts": ["a"]})
