# SPDX-License-Identifier: Apache-2.0
"""A sweep whose combinations take as many seeds as their intervals need."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from hoplab.many.sweep.engine import Done
from hoplab.many.sweep.points import Combination, Point, Sweep


@dataclass
class _Open:
    """A combination that is not finished; ``runs`` by the index of their seeds."""

    combination: Combination
    wanted: int
    runs: dict[int, Mapping[str, float] | None] = field(default_factory=dict)


class Adaptive:
    """The source of such a sweep. It holds only the combinations that are being run."""

    def __init__(self, sweep: Sweep) -> None:
        assert sweep.rule is not None
        self._sweep = sweep
        self._rule = sweep.rule
        self._combinations = sweep.combinations()
        self._waiting: deque[tuple[_Open, int]] = deque()
        self._going: dict[int, tuple[_Open, int]] = {}
        self._more = 0

    def more(self) -> int:
        """Return the number of runs beyond those that every combination begins with."""
        return self._more

    def next(self) -> Point | None:
        if not self._waiting:
            combination = next(self._combinations, None)
            if combination is None:
                return None
            opened = _Open(combination, len(self._rule.begin))
            self._waiting.extend((opened, index) for index in range(opened.wanted))
        opened, index = self._waiting.popleft()
        point = self._sweep.point(opened.combination, self._rule.seed(index))
        self._going[id(point)] = opened, index
        return point

    def told(self, done: Done) -> None:
        opened, index = self._going.pop(id(done.point))
        failed = done.error is not None
        opened.runs[index] = None if failed else self._rule.values(done.rows("flows"))
        if len(opened.runs) < opened.wanted:
            return
        wanted = self._rule.wanted([opened.runs[i] for i in range(opened.wanted)])
        # They come before combinations that have not begun, so that few are open at a time.
        self._waiting.extendleft((opened, i) for i in reversed(range(opened.wanted, wanted)))
        self._more += wanted - opened.wanted
        opened.wanted = wanted
