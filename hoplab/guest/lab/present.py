# SPDX-License-Identifier: Apache-2.0
"""Where stations are now, and whether their radios are on, while a network runs."""

from __future__ import annotations

from collections.abc import Callable

from hoplab.model.keys.faults import Event
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.reach import neighbours

ACTS = {"move": "place", "up": "power", "down": "power"}
"""What an event of each kind settles, until the next one of the same station. Losses settle
nothing here."""


class Present:
    """The network of a scenario as it is now: by its movement, its events, and what a user did.

    One thread may call `take` while another one reads.
    """

    def __init__(self, scenario: Resolved, now_s: Callable[[], float]) -> None:
        """``now_s`` returns the scenario time in s."""
        self._scenario = scenario
        self._now_s = now_s
        self._taken: dict[tuple[str, str], Event] = {}

    def take(self, event: Event) -> None:
        """Take what a user did."""
        if event.kind in ACTS:
            self._taken[str(event.station), ACTS[event.kind]] = event

    def scenario(self) -> Resolved:
        """Return the scenario with each station at rest where it is now."""
        t_s, acts = max(0.0, self._now_s()), self._acts()
        stations = []
        for station in self._scenario.station:
            x_m, y_m = station.place(t_s)
            if moved := acts.get((station.name, "place")):
                x_m, y_m = moved.place
            update = {"x_m": x_m, "y_m": y_m, "waypoints": ()}
            stations.append(station.model_copy(update=update))
        return self._scenario.model_copy(update={"station": tuple(stations)})

    def off(self) -> set[str]:
        """Return the stations whose radios are off."""
        acts = self._acts()
        return {
            name for (name, what), act in acts.items() if what == "power" and act.kind == "down"
        }

    def neighbours(self) -> dict[str, list[str]]:
        """Return what `hoplab.model.network.reach.neighbours` finds now."""
        return neighbours(self.scenario(), max(0.0, self._now_s()), self.off())

    def _acts(self) -> dict[tuple[str, str], Event]:
        """Return the latest act of each station."""
        now_s = self._now_s()
        planned = [event for event in self._scenario.event if event.kind in ACTS]
        due = [event for event in (*planned, *self._taken.values()) if event.at_s <= now_s]
        due.sort(key=lambda event: event.at_s)
        return {(str(event.station), ACTS[event.kind]): event for event in due}
