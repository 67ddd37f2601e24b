# SPDX-License-Identifier: Apache-2.0
"""The module's filter in integers against the formula in floating point."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.validate.westwood import Reference, acked_bytes, integer_estimates

FLOAT_ERROR = 1e-9
"""Relative, of the reference itself."""


def compare(folder: Path, trace: list[tuple[int, int]], tau_us: int, m: int) -> None:
    start_us = trace[0][0] if trace else 0
    reference = Reference(start_us, tau_us, m)
    for (time_us, count), integer in zip(
        trace, integer_estimates(folder, trace, start_us, tau_us, m), strict=True
    ):
        reference.acknowledge(time_us, count)
        slack = FLOAT_ERROR * reference.estimate
        assert reference.estimate - reference.bound - slack <= integer
        assert integer <= reference.estimate + slack


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    gaps=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 50), st.integers(0, 20_000), st.integers(0, 60_000_000)),
            st.one_of(st.integers(1, 3000), st.integers(1, 1 << 24)),
        ),
        max_size=200,
    ),
    tau_us=st.sampled_from([1000, 500_000, 4_000_000]),
    m=st.sampled_from([2, 3, 32]),
)
def test_within_the_stated_bound(
    tmp_path: Path, gaps: list[tuple[int, int]], tau_us: int, m: int
) -> None:
    trace = []
    now_us = 1_700_000_000_000_000
    for gap, count in gaps:
        now_us += gap
        trace.append((now_us, count))
    compare(tmp_path, trace, tau_us, m)


def test_a_steady_flow_is_estimated_right(tmp_path: Path) -> None:
    """1448 bytes each millisecond; the bound of the header's example, 502 units."""
    trace = [(1000 * i, 1448) for i in range(1, 10_001)]
    estimates = integer_estimates(tmp_path, trace, 0)
    assert estimates[-1] == pytest.approx(1_448_000, rel=1e-5)
    reference = Reference(0)
    for time_us, count in trace:
        reference.acknowledge(time_us, count)
    assert reference.bound * 256 < 503
    assert abs(reference.estimate - estimates[-1]) <= reference.bound


def test_silence_brings_the_estimate_down(tmp_path: Path) -> None:
    """Each virtual sample multiplies by (2m - 1) / (2m + 1) = 3/5 once the last real one is out."""
    steady = [(1000 * i, 1448) for i in range(1, 10_001)]
    last = steady[-1][0]
    after = [
        integer_estimates(tmp_path, [*steady, (last + 250_000 * n + 1, 0)], 0)[-1]
        for n in (2, 3, 4)
    ]
    assert after[1] / after[0] == pytest.approx(0.6, rel=1e-3)
    assert after[2] / after[1] == pytest.approx(0.6, rel=1e-3)


def test_acked_count() -> None:
    """Three duplicates are taken off the cumulative acknowledgement that follows."""
    trace = [(0, 1000), (1, 2000), (2, 4000), (3, 4000), (4, 4000), (5, 4000), (6, 9000)]
    counted = [count for _, count in acked_bytes(trace, 1000)]
    assert counted == [1000, 2000, 1000, 1000, 1000, 2000]
