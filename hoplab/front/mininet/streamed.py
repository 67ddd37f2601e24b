# SPDX-License-Identifier: Apache-2.0
"""Give the samples of a guest's recordings to sinks as they come."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from hoplab.front.mininet import measured
from hoplab.host.results.manifest import Where
from hoplab.host.stream.follow import content
from hoplab.host.stream.hub import Stream, told
from hoplab.host.stream.sink import Sink
from hoplab.model.keys.resolved import Resolved

PAUSE_S = 0.05


@contextmanager
def follow(
    out: Path,
    sinks: Callable[[], Sequence[Sink]],
    real_time: bool,
    tell: Callable[[str], None],
) -> Iterator[None]:
    """Inside the block, follow each recording that begins in ``out``, with its own ``sinks``.
    ``tell`` receives messages about rows that they did not take."""
    ended = threading.Event()

    def watch() -> None:
        known: set[Path] = set()
        going: list[tuple[Path, Stream]] = []
        while True:
            last = ended.wait(PAUSE_S)
            for folder in measured.recordings(out):
                scenario = None if folder in known else _begun(folder)
                if scenario is not None:
                    known.add(folder)
                    stream = Stream(sinks())
                    stream.begin(folder, scenario, Where.SCRIPT, real_time)
                    going.append((folder, stream))
            for folder, stream in list(going):
                status = told(folder, "status")
                if last or status is not None:
                    stream.close("complete" if status == 0 else "failed")
                    going.remove((folder, stream))
                    for line in [*stream.warnings(), *stream.summary()]:
                        tell(line)
            if last:
                return

    thread = threading.Thread(target=watch, name="recordings", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _begun(folder: Path) -> Resolved | None:
    """Return the scenario of a recording whose lab is at work."""
    if not (folder / "raw" / "verdict.json").exists():
        return None
    with contextlib.suppress(OSError, ValidationError):
        return Resolved.model_validate_json(content(folder / "scenario.json"))
    return None
