# SPDX-License-Identifier: Apache-2.0
"""Other futures of a run, which its live page asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoplab.front.commands.options import say
from hoplab.host.runs.launch import Observers, RunRequest, perform
from hoplab.host.stream.hub import Stream
from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show import report

if TYPE_CHECKING:
    from hoplab.show.live.shown import Future, Shown

MOST = 8
"""Futures of one run. Each has a guest while it lasts, and its samples in memory."""


class Futures:
    """Runs that branch off ``scenario``, each in a thread of its own, with its page beside the
    run's. ``request`` makes the request to perform one of them, by its number."""

    def __init__(self, scenario: Resolved, request: Callable[[Resolved, int], RunRequest]) -> None:
        self._scenario = scenario
        self._request = request
        self._count = 0
        self._lock = threading.Lock()
        self.page: Shown | None = None
        """The run's page, once there is one."""

    def act(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Begin the future that a page asks for. Returns where its page is, and its name. Raises
        `ScenarioError` if it cannot be."""
        wish = requests.read(asked, [requests.Branch])
        assert isinstance(wish, requests.Branch)
        if self.page is None:
            raise ScenarioError("branch: the run has not begun; ask again when it has")
        scenario = self._branched(wish)
        with self._lock:
            if self._count == MOST:
                raise ScenarioError(f"branch: this run has {MOST} futures already; start it again")
            self._count += 1
            number = self._count
        request = self._request(scenario, number)
        request.machine.require(scenario)
        name = f"From {wish.at_s:g} s on, {number}"
        title = f"{self._scenario.title or 'A run'} · another future from {wish.at_s:g} s on"
        future = self.page.future(scenario, title)
        work = threading.Thread(
            target=self._perform, args=(name, request, future), name="future", daemon=True
        )
        work.start()
        return {"page": future.address, "name": name}

    def _branched(self, wish: requests.Branch) -> Resolved:
        document = self._scenario.model_dump(mode="json", exclude_none=True)
        events = wish.events(self._scenario.event)
        document["branch"] = {"at_s": wish.at_s, "set": {"event": events}}
        return resolve(parse(document, "branch"))

    def _perform(self, name: str, request: RunRequest, future: Future) -> None:
        pages: list[Path] = []
        following = Stream([future.sink])
        try:
            perform(
                request,
                Observers(
                    on_results=lambda out: pages.append(report.render(out)), stream=following
                ),
            )
            say(f"{name}: report: {pages[0]}")
        except HoplabError as error:
            say(f"hoplab: {name}: {error}")
        finally:
            future.finish(pages[0] if pages else None)
