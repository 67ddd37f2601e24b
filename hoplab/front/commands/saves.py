# SPDX-License-Identifier: Apache-2.0
"""Networks that a run's command keeps, for other futures of the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from hoplab.front.commands.options import say
from hoplab.guest.system import signals
from hoplab.host.machine import saving
from hoplab.host.machine.saved import Point
from hoplab.model.errors import ResultsError


@contextmanager
def kept(points: Sequence[Point], room: Path) -> Iterator[saving.Saving]:
    """Keep networks for runs whose folders are below ``room``. Raises `MissingTool` where that is
    not possible."""
    saving.require()
    try:
        room.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{room}: cannot be written: {error.strerror}") from None
    with closing(saving.Saving(points, room, say)) as made:
        yield made


def stay() -> None:
    """Return when the user presses Ctrl-C."""
    try:
        threading.Event().wait()
    except signals.Stopped as stopped:
        if stopped.number != signal.SIGINT:
            raise
