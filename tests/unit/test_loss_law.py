# SPDX-License-Identifier: Apache-2.0
"""The formulas that measured rates are held against."""

import pytest

from hoplab.host.statistics.samples import jain
from hoplab.many.study.loss_law import pftk, square_root

ROUND_TRIP_S, TIMEOUT_S, WINDOW = 0.1, 1.0, 1e9


def test_pftk_by_hand() -> None:
    """p = 0.06, b = 1: sqrt(2p/3) = 0.2, 3 sqrt(3p/8) = 0.45, so 1 / (0.02 + 0.45 p 1.1152)."""
    assert pftk(0.06, ROUND_TRIP_S, TIMEOUT_S, WINDOW) == pytest.approx(1 / 0.0501104)


def test_pftk_without_timeouts_is_the_square_root_law() -> None:
    rate = pftk(1e-7, ROUND_TRIP_S, TIMEOUT_S, WINDOW)
    assert rate == pytest.approx(square_root(1e-7, ROUND_TRIP_S), rel=1e-3)


def test_pftk_is_limited_by_the_window() -> None:
    assert pftk(1e-6, ROUND_TRIP_S, TIMEOUT_S, 8) == pytest.approx(80)


@pytest.mark.parametrize(("rates", "index"), [([2, 2], 1.0), ([3, 0], 0.5), ([3, 1], 0.8)])
def test_jain(rates: list[float], index: float) -> None:
    assert jain(rates) == pytest.approx(index)
