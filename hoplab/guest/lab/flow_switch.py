# SPDX-License-Identifier: Apache-2.0
"""Flows that an agent starts and ends (`hoplab.guest.lab.stepped`)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hoplab.guest.lab.acts import Decisions
from hoplab.guest.lab.built import Built
from hoplab.guest.lab.runtime import Going, Runtime
from hoplab.guest.lab.session import as_gone, listens
from hoplab.model.errors import ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.declare import MAX_DURATION_S
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.traffic import MAX_FLOWS
from hoplab.model.network.plan import plan

LOOK_S = 0.001
"""Virtual seconds between two checks whether a server listens. Virtual time makes the run
repeatable."""
LISTEN_S = 5.0


class FlowSwitch:
    """Starts and ends the flows of these ``names``. A flow that starts again is another flow in the
    tables, because its counts begin anew. A live page does the same
    (`hoplab.guest.lab.session`)."""

    def __init__(
        self, built: Built, runtime: Runtime, acts: Decisions, names: Sequence[str]
    ) -> None:
        self.names = frozenset(names)
        self._built = built
        self._runtime = runtime
        self._acts = acts
        self._scenario = built.plan.scenario
        self._current = {name: name for name in names}
        """Present name of each flow."""
        acts.add(requests.Start, self._start)
        acts.add(requests.Stop, self._stop)

    def end(self, name: str, t_s: float) -> None:
        """End the flow if it is running."""
        going = self._going(name)
        if going.begin_s is not None and going.end_s is None:
            self._runtime.end_flow(going, t_s)
            source = going.conversation.flow.source
            self._runtime.event(t_s, source, "flow-stop", going.conversation.name)

    def as_gone(self) -> Resolved:
        """Return the scenario with the times at which its flows ran."""
        end_s = self._scenario.duration_s
        others = {flow.name for flow in self._built.plan.scenario.flow} - self.names
        flows = tuple(
            flow if flow.name in others else as_gone(self._runtime.going[flow.name], end_s)
            for flow in self._scenario.flow
        )
        return self._scenario.model_copy(update={"flow": flows})

    def _going(self, name: str) -> Going:
        return self._runtime.going[self._current[name]]

    def _start(self, request: requests.Start, t_s: float) -> None:
        name = self._known(request.flow)
        going = self._going(name)
        if going.end_s is not None:
            going = self._again(name)
            self._runtime.start_client(going, round(self._runtime.clock.now_s(), 9))
        elif going.begin_s is None:
            self._runtime.start_client(going, t_s)

    def _stop(self, request: requests.Stop, t_s: float) -> None:
        self.end(self._known(request.flow), t_s)

    def _known(self, name: str) -> str:
        if name not in self.names:
            raise ScenarioError(f"flow: {name!r} is none that the agent was to start and end")
        return name

    def _again(self, name: str) -> Going:
        """Start the server of another flow like ``name``, and wait until it listens."""
        if len(self._scenario.flow) >= MAX_FLOWS:
            raise ScenarioError(f"flow {name}: a run has at most {MAX_FLOWS} flows")
        base = next(flow for flow in self._scenario.flow if flow.name == name)
        taken = {flow.name for flow in self._scenario.flow}
        numbers = (f"{name[:27]}-{n}" for n in range(2, MAX_FLOWS + 2))
        other = next(free for free in numbers if free not in taken)
        times = {"name": other, "start_s": 0.0, "stop_s": MAX_DURATION_S}
        flow = base.model_copy(update=times)
        self._scenario = self._scenario.model_copy(update={"flow": (*self._scenario.flow, flow)})
        whole = plan(self._scenario.model_copy(update={"duration_s": MAX_DURATION_S}))
        conversation = next(c for c in whole.conversations if c.name == other)
        if self._acts.follows_window(name):
            self._acts.follow_window(conversation, name)
        going = self._runtime.join(conversation, whole)
        deadline_s = time.monotonic() + LISTEN_S
        while not listens(conversation) and time.monotonic() < deadline_s:
            time.sleep(LOOK_S)
        self._current[name] = other
        return going
