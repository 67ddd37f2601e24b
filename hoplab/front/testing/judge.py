# SPDX-License-Identifier: Apache-2.0
"""Judge values drawn over seeds by confidence intervals, so that a test neither flakes nor passes
by luck. If the seeds are too few to show the claim, the test fails. The message says how many are
enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

from hoplab.host.statistics.samples import Sample, difference
from hoplab.host.statistics.student import quantile as t_quantile


def assert_within(
    values: Sequence[float],
    expected: float,
    relative: float,
    confidence: float = 0.95,
) -> None:
    """Fail unless the mean that ``values`` are drawn from is within ``relative`` of ``expected``.

    The two-sided interval of Student 1908 about their mean, at ``confidence``, must lie inside
    [expected (1 - relative), expected (1 + relative)]. Raises `AssertionError` that says whether
    the mean is outside or the seeds are too few. Raises `ValueError` for fewer than two values.
    """
    __tracebackhide__ = True
    sample, half = _interval(values, 1 - (1 - confidence) / 2, confidence)
    room = abs(expected) * relative
    off = abs(sample.mean - expected)
    if off + half <= room:
        return
    told = (
        f"mean {sample.mean:.6g} ± {half:.3g} ({100 * confidence:g} %, n = {sample.n}), expected "
        f"{expected:.6g} within {100 * relative:g} %"
    )
    if off - half > room:
        raise AssertionError(f"{told}: it is outside")
    if off >= room:
        raise AssertionError(f"{told}: it is outside, as far as {sample.n} seeds can tell")
    wanted = _seeds(stdev(values), room - off, 1 - (1 - confidence) / 2)
    raise AssertionError(f"{told}: too few seeds to tell; about {wanted} would: --hoplab-seeds")


def assert_faster(
    fast: Sequence[float],
    slow: Sequence[float],
    confidence: float = 0.95,
    by: float = 0.0,
) -> None:
    """Fail unless the mean behind ``fast`` exceeds that behind ``slow`` by the share ``by``.

    Draw both under the same seeds. If they have equally many values, these are compared seed by
    seed (a paired test), else by Welch 1947. The test is one-sided at ``confidence``. For times,
    where less is faster, swap the two. Raises `AssertionError` with the difference and the number
    of seeds that would show it.
    """
    __tracebackhide__ = True
    goal = [value * (1 + by) for value in slow]
    if len(fast) == len(goal):
        gains = [one - other for one, other in zip(fast, goal, strict=True)]
        gain, half = _interval(gains, confidence, confidence)
        spread = stdev(gains)
    else:
        one, other = Sample.of(fast), Sample.of(goal)
        gain = difference(one, other)
        half = t_quantile(confidence, gain.n - 1) * gain.error
        spread = gain.error * math.sqrt(min(one.n, other.n))
    if gain.mean - half > 0:
        return
    told = (
        f"mean {fmean(fast):.6g} (n = {len(fast)}) is not shown to exceed {fmean(slow):.6g} "
        f"(n = {len(slow)})" + (f" by {100 * by:g} %" if by else "")
    )
    told += f" at {100 * confidence:g} %: gain {gain.mean:.4g}, at least {gain.mean - half:.4g}"
    if gain.mean <= 0:
        raise AssertionError(told)
    wanted = _seeds(spread, gain.mean, confidence)
    raise AssertionError(f"{told}; about {wanted} seeds would tell: --hoplab-seeds")


def _interval(values: Sequence[float], quantile: float, confidence: float) -> tuple[Sample, float]:
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence {confidence}: expected 0.5 or more, below 1")
    if len(values) < 2:
        raise ValueError(f"{len(values)} values: an interval needs two seeds or more")
    sample = Sample.of(values)
    return sample, t_quantile(quantile, sample.n - 1) * sample.error


def _seeds(spread: float, room: float, quantile: float) -> int:
    """Return about how many draws make the half-width as small as ``room``."""
    return math.ceil((NormalDist().inv_cdf(quantile) * spread / room) ** 2) + 2
