# SPDX-License-Identifier: Apache-2.0
"""The stand-by of connections with ELFN: events, and columns of table `tcp`."""

from __future__ import annotations

from typing import Any

from hoplab.guest.network.elfn import Elfn, Event
from hoplab.model.network.plan import Conversation, Plan
from hoplab.model.records.writer import Records

NONE: dict[str, Any] = dict.fromkeys(("standby", "standby_s", "probes", "notices"))


class StandbyProbe:
    """Listens to the module at every station that sends with ELFN; costs a call for each station
    and sample."""

    def __init__(
        self, plan: Plan, elfn: dict[str, Elfn], records: Records, realtime_epoch_ns: int
    ) -> None:
        self._elfn = elfn
        self._records = records
        self._epoch_ns = realtime_epoch_ns
        self._names = {
            (c.flow.source, c.client_port): c.name for c in plan.conversations if c.elfn is not None
        }
        self._last: dict[str, Event] = {}

    @property
    def is_needed(self) -> bool:
        """Whether any station sends with ELFN."""
        return bool(self._elfn)

    def follow(self, conversation: Conversation) -> None:
        """Assign the events of a flow that was not planned."""
        if conversation.elfn is not None:
            self._names[conversation.flow.source, conversation.client_port] = conversation.name

    def read(self) -> None:
        """Read the events since the last call."""
        for station, elfn in self._elfn.items():
            for event in elfn.events():
                name = self._names.get((station, event.connection.local[1]))
                if name is None:
                    continue
                self._last[name] = event
                self._records.add(
                    "events",
                    t_s=self._t_s(event),
                    node=station,
                    source="elfn",
                    kind=event.kind,
                    detail=_detail(name, event),
                )

    def columns(self, conversation: Conversation, t_s: float) -> dict[str, Any]:
        """Return the columns of table `tcp` at ``t_s``."""
        if conversation.elfn is None:
            return NONE
        event = self._last.get(conversation.name)
        if event is None:
            return {"standby": 0, "standby_s": 0.0, "probes": 0, "notices": 0}
        now = event.connection
        going_s = max(0.0, t_s - self._t_s(event)) if now.standby else 0.0
        return {
            "standby": int(now.standby),
            "standby_s": round(now.standby_s + going_s, 6),
            "probes": now.probes,
            "notices": now.notices,
        }

    def finish(self, t_s: float) -> None:
        """Record the fate of all notices at the end."""
        self.read()
        for station, elfn in self._elfn.items():
            counts = " ".join(f"{name}={count}" for name, count in elfn.counters().items())
            self._records.add(
                "events", t_s=t_s, node=station, source="elfn", kind="notices", detail=counts
            )

    def _t_s(self, event: Event) -> float:
        return round((event.time_ns - self._epoch_ns) / 1e9, 9)


def _detail(name: str, event: Event) -> str:
    now = event.connection
    ssthresh = "none" if now.ssthresh >= 0x7FFFFFFF else now.ssthresh
    text = f"flow={name} seq={event.sequence} cwnd={now.cwnd} ssthresh={ssthresh}"
    text += f" rto_ms={now.rto_ms:g}"
    if event.kind == "resume":
        text += f" why={now.reason} resent={now.resent} standby_s={now.standby_s:.6f}"
    return text
