# SPDX-License-Identifier: Apache-2.0
"""Distributions of a wire's jitter, as tables from which netem draws with equal chance.

A table has the quantiles of a distribution of mean 0 and deviation 1, in units of 1/`SCALE`
(linux/pkt_sched.h, NETEM_DIST_SCALE). Its values have 16 bits, which cuts it at 4 deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

SCALE = 8192
SIZE = 4096
MOST = (1 << 15) - 1
DEVIATIONS = MOST / SCALE
PARETO_SHAPE = 3
"""Its mean is 3/2 and its variance 3/4 of the least value and its square."""
PARETO_MEAN, PARETO_DEVIATION = 1.5, math.sqrt(0.75)


def _pareto(share: float) -> float:
    value: float = (1 - share) ** (-1 / PARETO_SHAPE)
    return (value - PARETO_MEAN) / PARETO_DEVIATION


QUANTILES: dict[str, Callable[[float], float]] = {
    "normal": lambda share: NormalDist().inv_cdf(share),
    "pareto": _pareto,
}


@cache
def table(distribution: str) -> tuple[int, ...]:
    """Return netem's table of a distribution, the middles of `SIZE` equal shares of chance."""
    quantile = QUANTILES[distribution]
    values = (round(SCALE * quantile((i + 0.5) / SIZE)) for i in range(SIZE))
    return tuple(max(-MOST, min(MOST, value)) for value in values)


def before(distribution: str, deviation: float) -> float:
    """Return by how much the earliest packet is before the mean, in the unit of ``deviation``."""
    if distribution == "uniform":
        return deviation
    return deviation * -table(distribution)[0] / SCALE
