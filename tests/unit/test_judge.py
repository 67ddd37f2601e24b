# SPDX-License-Identifier: Apache-2.0
"""Verdicts by confidence intervals: neither flaky nor lucky."""

import random
from pathlib import Path

import pytest

from hoplab import assert_faster, assert_within
from hoplab.front.testing import lab
from hoplab.host.machine.sealed import Machine
from hoplab.host.statistics.student import quantile
from hoplab.model.errors import DaemonDied

NIST = {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 100: 1.984}
"""97.5 % of Student's t (NIST/SEMATECH e-Handbook 1.3.6.7.2)."""


def test_quantiles_are_the_tables() -> None:
    for freedom, t in NIST.items():
        assert quantile(0.975, freedom) == pytest.approx(t, abs=6e-4)
    assert quantile(0.95, 4) == pytest.approx(2.132, abs=6e-4)
    assert quantile(0.999, 9) == pytest.approx(4.297, abs=6e-4)
    assert quantile(0.5, 3) == pytest.approx(0, abs=1e-9)


def test_too_few_seeds_are_no_pass() -> None:
    with pytest.raises(AssertionError, match=r"too few seeds to tell; about \d+ would"):
        assert_within([95.0, 106.0, 101.0], 100, 0.05)
    assert_within([99.0, 101.0, 100.0, 100.5], 100, 0.05)


def test_what_is_outside_is_said_to_be() -> None:
    with pytest.raises(AssertionError, match=r"it is outside$"):
        assert_within([79.0, 80.0, 81.0], 100, 0.05)
    with pytest.raises(ValueError, match="two seeds or more"):
        assert_within([100.0], 100, 0.05)


def test_pairs_show_what_spread_hides() -> None:
    """Seeds differ by more than the gain; the same seeds side by side do not."""
    slow = [100.0, 200.0, 300.0, 400.0]
    fast = [value + gain for value, gain in zip(slow, (9, 10, 11, 10), strict=True)]
    assert_faster(fast, slow)
    with pytest.raises(AssertionError, match="is not shown to exceed"):
        assert_faster(fast[:3], slow)  # not paired
    with pytest.raises(AssertionError, match="by 50 %"):
        assert_faster(fast, slow, by=0.5)


def test_the_confidence_is_what_it_says() -> None:
    """Of equal means, one in twenty comparisons is passed at 95 %: no more."""
    lots = random.Random(7)
    passed = 0
    for _ in range(2000):
        fast, slow = ([lots.gauss(100, 10) for _ in range(5)] for _ in range(2))
        try:
            assert_faster(fast, slow)
        except AssertionError:
            continue
        passed += 1
    assert 0.03 < passed / 2000 < 0.07


def test_a_run_that_fails_shows_the_test_and_its_message_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program's `expect` does, many calls below."""

    def fail(*_: object) -> None:
        raise DaemonDied("program x: ended with status 1, but expect is 0")

    monkeypatch.setattr(lab.select, "chosen", lambda: Machine(tmp_path, "0" * 64, {}))
    monkeypatch.setattr(lab, "perform", fail)
    own = lab.Lab(tmp_path / "kept", tmp_path, 2)
    document = {"topology": {"kind": "pair"}}
    for call in (lambda: own.run(document), lambda: own.sample(document)):
        with pytest.raises(DaemonDied, match="but expect is 0") as caught:
            call()
        shown = [entry for entry in caught.traceback if not entry.ishidden(caught)]
        assert {Path(str(entry.path)).name for entry in shown} == {Path(__file__).name}
