# SPDX-License-Identifier: Apache-2.0
"""One run that an agent controls, in its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from hoplab.host.machine.copies import Source
from hoplab.host.machine.sealed import Machine
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.host.runs.steps import Steps
from hoplab.host.stream.follow import Follower
from hoplab.host.stream.sink import Batch
from hoplab.model.errors import HoplabError
from hoplab.model.keys.requests import Request
from hoplab.model.keys.resolved import Resolved


class Episode:
    """A run from time 0 to the scenario's end, unless it is `close`d before."""

    def __init__(
        self,
        scenario: Resolved,
        machine: Machine,
        steps: Steps,
        take: Callable[[Batch], None],
        folder: Path,
        originals: Source,
    ) -> None:
        """Start it in ``folder``. ``take`` receives its samples. Its guest is a copy of one of the
        ``originals``, if there is any."""
        self.manifest: Manifest | None = None
        """The manifest, once the run has ended."""
        self.folder = folder
        self.steps = steps
        self._failure: BaseException | None = None
        self._follower = Follower(folder, scenario.duration_s, take)
        request = RunRequest(scenario, Sealed(machine, steps, originals), out=folder)
        self._thread = threading.Thread(
            target=self._perform, args=(request,), name="episode", daemon=True
        )
        self._thread.start()

    def reached(self) -> float | None:
        """Return the time of its next step in s, once ``take`` has all samples until then. None at
        its end. Raises the run's errors, and `ScenarioError` for a request that was refused."""
        at_s = self.steps.reached()
        if at_s is None:
            self._thread.join()
        while self._follower.poll():
            pass
        if at_s is None and self._failure is not None:
            raise self._failure
        return at_s

    def go_on(self, requests: Sequence[Request]) -> None:
        """Carry out the requests, and let the run go on to its next step."""
        self.steps.go_on(requests)

    def close(self, at_once: bool = False) -> None:
        """End the run at any point. With ``at_once`` nobody wants its results."""
        self.steps.close(at_once)
        self._thread.join()
        self._follower.close()

    def _perform(self, request: RunRequest) -> None:
        try:
            self.manifest = perform(request)
        except HoplabError as error:
            self._failure = error
        except BaseException as error:  # a defect, passed to the caller that waits for a step
            self._failure = error
        finally:
            self.steps.close()
