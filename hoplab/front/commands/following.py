# SPDX-License-Identifier: Apache-2.0
"""Output of a run that a user follows, also after a signal ended it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoplab.front.commands.options import say
from hoplab.guest.system import signals
from hoplab.host import results
from hoplab.host.terminal import messages
from hoplab.model.keys.resolved import Resolved
from hoplab.show import report

if TYPE_CHECKING:
    from hoplab.host.results import Results
    from hoplab.show.live.shown import Shown


def page_of(
    scenario: Resolved,
    act: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    has_futures: bool = False,
) -> AbstractContextManager[Shown]:
    from hoplab.show.live.shown import shown  # a server, and Plotly

    return shown(scenario, say, act, has_futures=has_futures)


@contextmanager
def told_so_far(pages: list[Path]) -> Iterator[None]:
    """If a signal ends a run, print where its results are, and what they show."""

    try:
        yield
    except signals.Stopped as stopped:
        if stopped.__cause__ is not None:  # the reason why there are none
            say(f"hoplab: {stopped.__cause__}")
        for page in pages:
            found = results.load(page.parent)
            messages.print(report.summary_table(found))
            reached = found.manifest.virtual_s or _last_s(found)
            planned = found.resolved.duration_s
            say(f"results so far, to {reached:g} of {planned:g} s, are in {page.parent}")
            say(f"report: {page}")
        raise


def _last_s(found: Results) -> float:
    """Return the time of the last sample of a run that was cut short."""
    return max((row["t_s"] for name in ("nodes", "tcp") for row in found.rows(name)), default=0.0)
