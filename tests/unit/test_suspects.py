# SPDX-License-Identifier: Apache-2.0
"""Which programs and flows are named when a guest computes, or its lab is killed."""

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.runs import suspects
from hoplab.model.errors import GuestFailed
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

COMPUTED = "no virtual time passed in 6 s of processor time; it computed in {} (6 of 6 looks); end"


def scenario(*programs: dict[str, Any], flows: int = 0) -> Scenario:
    document = {
        "duration_s": 10,
        "topology": {"kind": "chain", "stations": 3},
        "program": [{"station": "n0", **program} for program in programs],
        "flow": [{"source": "n0", "destination": "n2"}] * flows,
    }
    return resolve(parse(document, "test"))


def begun(folder: Path, *names: str, ended: str = "") -> Path:
    """A run's folder in which these programs have begun."""
    (folder / "raw").mkdir()
    rows = [{"kind": "program-start", "t_s": 1.0, "detail": name} for name in names]
    rows += [{"kind": "program-end", "t_s": 2.0, "detail": f"{ended} status=0"}] if ended else []
    (folder / "raw" / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


SPIN, QUIET = {"name": "spin", "run": "python3\n spin.py"}, {"name": "quiet", "run": "sleep 9"}
SHELL = {"name": "shell", "run": "sh -c 'cd /tmp; exec ./polls 1'"}
SEARCHED = {"name": "late", "run": "sh -c :", "ready": {"log": "a*a*a*a*b"}}


@pytest.mark.parametrize(
    ("busy", "begin"),
    [
        ("python3", "program spin (python3 spin.py): computes or polls without waiting"),
        ("polls", "program shell (sh -c 'cd /tmp; exec ./polls 1'): computes"),
        ("child", "program spin (python3 spin.py) or quiet (sleep 9) or shell ("),
        ("hoplab-lab", "program late: ready.log: searching its output for 'a*a*a*a*b' takes long"),
        ("iperf3", "the guest is busy with flow flow0: no virtual"),
        ("ksoftirqd/0", "program spin ("),
    ],
)
def test_who_computes_is_named(tmp_path: Path, busy: str, begin: str) -> None:
    what = COMPUTED.format(busy)
    out = begun(tmp_path, "spin", "quiet", "shell", "late")
    all_of_them = scenario(SPIN, QUIET, SHELL, SEARCHED, flows=1)
    said = suspects.explained(what, all_of_them, out)
    assert said.startswith(begin) and said.endswith(what)
    assert str(suspects.named(GuestFailed(what), all_of_them, out)) == said


def test_who_has_ended_is_not_suspected(tmp_path: Path) -> None:
    out = begun(tmp_path, "spin", ended="spin")
    what = COMPUTED.format("python3")
    assert suspects.explained(what, scenario(SPIN), out) == what
    assert suspects.explained("another failure", scenario(SPIN), out) == "another failure"


def test_who_ended_with_the_lab_may_have_killed_it(tmp_path: Path) -> None:
    """After SIGTERM the lab ends its programs, and then itself."""
    out = begun(tmp_path, "spin", "quiet", ended="spin")
    with (out / "raw" / "events.jsonl").open("a") as events:
        row = {"kind": "program-end", "t_s": 5.0, "detail": "quiet status=-15"}
        events.write(json.dumps(row) + "\n")
    assert suspects.of_signal(143, scenario(SPIN, QUIET), out).startswith(
        "; program quiet (sleep 9) was running"
    )


def test_who_may_have_killed_the_lab_is_named(tmp_path: Path) -> None:
    out = begun(tmp_path, "spin")
    assert suspects.of_signal(1, scenario(SPIN), out) == ""
    assert suspects.of_signal(137, scenario(SPIN), out) == (
        "; program spin (python3 spin.py) was running: does it send a signal to all processes?"
    )
