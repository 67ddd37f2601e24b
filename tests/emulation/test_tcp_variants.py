# SPDX-License-Identifier: Apache-2.0
"""The variants through the real stack: what each does with exactly listed losses."""

from itertools import pairwise
from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run
from tests.validate import fall_floyd
from tests.validate.fall_floyd import DROPS, VARIANTS, Course

Courses = dict[tuple[str, int], Course]


@pytest.fixture(scope="module")
def courses() -> Courses:
    return fall_floyd.courses()


def test_fall_and_floyd(courses: Courses) -> None:
    """Timeouts, retransmissions, thresholds and round trips of all sixteen connections."""
    assert [str(figure) for figure in fall_floyd.items(courses) if figure.verdict == "FAIL"] == []


@pytest.mark.parametrize("count", DROPS)
def test_only_the_listed_segments_are_lost(courses: Courses, count: int) -> None:
    """Every variant's first retransmission is segment 14, when 13 ask for it a third time."""
    for variant in VARIANTS:
        course = courses[variant, count]
        assert course.resent[0][1] == 14
        asked = [t for t, expected in course.acknowledged if expected == 14]
        assert asked[3] <= course.resent[0][0] < asked[4]


@pytest.mark.parametrize("count", DROPS)
def test_tahoe_slow_starts(courses: Courses, count: int) -> None:
    """From 1 the window doubles each round trip up to ssthresh, then adds one a round trip."""
    course = courses["tahoe", count]
    lost_s = course.resent[0][0]
    window = [(t, cwnd) for t, cwnd, _, _ in course.window if t > lost_s + 0.01]
    assert window[0][1] == 1
    assert all(b[1] >= a[1] for a, b in pairwise(window))
    eight_s, fourteen_s = (next(t for t, cwnd in window if cwnd == size) for size in (8, 14))
    assert (fourteen_s - eight_s) / fall_floyd.ROUND_TRIP_S == pytest.approx(6, rel=0.1)


def test_reno_halves_once_a_loss(courses: Courses) -> None:
    """RFC 2001 recovery ends at the partial acknowledgement: 15, 7, 3 with two losses."""
    states = [state for _, _, _, state in courses["reno", 2].window]
    entered = sum(1 for a, b in pairwise(states) if b == "Recovery" != a)
    assert entered == 2
    thresholds = [ssthresh for _, _, ssthresh, _ in courses["reno", 2].window]
    assert list(dict.fromkeys(thresholds)) == [None, 7, 3]


@pytest.mark.parametrize("count", [3, 4])
def test_reno_times_out_and_slow_starts(courses: Courses, count: int) -> None:
    course = courses["reno", count]
    backed_off = [(t, cwnd) for t, cwnd, _, state in course.window if state == "Loss"]
    assert backed_off[0][1] == 1
    # The timer, not a duplicate: nothing was sent for most of the retransmission timeout.
    times = [t for t, _, _ in course.sent]
    assert max(b - a for a, b in pairwise(times[5:])) > 0.4


@pytest.mark.parametrize("count", DROPS)
def test_sack_sends_nothing_twice_without_need(courses: Courses, count: int) -> None:
    assert tuple(n for _, n in courses["sack", count].resent) == DROPS[count]
    assert tuple(n for _, n in courses["newreno", count].resent) == DROPS[count]


TWO_ON_ONE_NETWORK = """
duration_s = 10
[topology]
kind = "dumbbell"
[tcp]
profile = "classic"
[[flow]]
source = "n1"
destination = "n4"
congestion_control = "{first}"
[[flow]]
source = "n5"
destination = "n6"
congestion_control = "{second}"
"""


@pytest.mark.parametrize(
    ("first", "second"), [("tahoe", "vegas"), ("reno", "tcpw"), ("westwood", "illinois")]
)
def test_two_variants_at_once(tmp_path: Path, run_scenario: Run, first: str, second: str) -> None:
    run_scenario(TWO_ON_ONE_NETWORK.format(first=first, second=second))
    flows = results.load(tmp_path / "run1").rows("flows")
    assert [flow["congestion_control"] for flow in flows] == [first, second]
    assert sum(flow["goodput_kbps"] for flow in flows) > 7000
