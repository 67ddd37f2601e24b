# SPDX-License-Identifier: Apache-2.0
"""Steps that undo a stage of the lab, whatever ends it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from hoplab.guest.system import signals


class CleanUp:
    """Runs its steps in reverse order. An error in one step does not keep the others from running.
    It never hides why the run ended: it is raised only if no other error is."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []

    def later(self, step: Callable[[], None]) -> None:
        """Do ``step`` at the end."""
        self._steps.append(step)

    def __enter__(self) -> CleanUp:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        failures: list[Exception] = []
        with signals.postponed():
            while self._steps:
                try:
                    self._steps.pop()()
                except Exception as failure:
                    failures.append(failure)
        if failures and error is None:
            raise failures[0]
        for other in failures:
            if error is not None:
                error.add_note(f"and in clearing up: {type(other).__name__}: {other}")
