# SPDX-License-Identifier: Apache-2.0
"""A look changes nothing: a pace, captures, the process that takes samples."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run, in_guest
from tests.emulation.test_resident import MOVING, SPLIT

DAEMONS = "network.routing=daemon"
"""They wake at instants of samples, and read the clock then."""


@pytest.mark.parametrize("text", [MOVING, SPLIT], ids=["moving", "split"])
def test_a_look_changes_no_table(tmp_path: Path, run_scenario: Run, text: str) -> None:
    looks = [
        (),
        ("--pace", "20"),
        ("--set", 'measure.captures=["n0", "air"]', "--set", "measure.packets=true"),
    ]
    alone, *watched = [
        results.load(Path(run_scenario(text, "--set", DAEMONS, *look)["folder"])).manifest.tables
        for look in looks
    ]
    for tables in watched:
        assert {name: tables[name] for name in alone} == alone


def test_readings_of_who_takes_samples_take_no_time(tmp_path: Path) -> None:
    """All others' do. A timer comes when the clock, which shows multiples of 256 ns, shows its
    time. Who reads without end gets on."""
    answer = in_guest(tmp_path, "observer.py")
    for when in ("before", "open", "after"):
        assert all(min(steps) >= 256 for steps in answer[when].values()), when
    assert all(steps == [0] for steps in answer["observer"].values())
    assert answer["other"] >= 256
    # The slack of these timers, which the kernel adds, is 1 ns.
    assert all(0 <= late <= 257 for late in answer["asleep"])
    # So many are free at one instant, and each further one takes 256 ns.
    assert answer["polled"] > 65_536
