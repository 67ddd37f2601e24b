# SPDX-License-Identifier: Apache-2.0
"""Samples of every flow and queue at the scenario's interval."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.probes.ends import ByCall, Connection, Pair, Times, reader
from hoplab.guest.probes.options import SackNotes
from hoplab.guest.probes.sockets import Info, SocketProbe, sender_row
from hoplab.guest.probes.standby import StandbyProbe
from hoplab.guest.probes.subflows import Subflows
from hoplab.guest.probes.wifi_queues import WifiQueues
from hoplab.guest.probes.wired_queues import WiredQueues
from hoplab.model.keys.resolved import MptcpFlow
from hoplab.model.network.multipath import paths
from hoplab.model.network.plan import Conversation, Plan
from hoplab.model.records.writer import Records

GOODPUT_WINDOW_S = 1.0


class Sampler:
    """Reads sockets and queues; writes table `tcp`, and has the queues' written."""

    def __init__(
        self,
        plan: Plan,
        namespaces: Namespaces,
        records: Records,
        standby: StandbyProbe,
        sack: SackNotes,
    ) -> None:
        self._records = records
        self._standby = standby
        self._sack = sack
        flows = [c.flow for c in plan.conversations if c.flow.transport == "tcp"]
        stations = {flow.source for flow in flows} | {flow.destination for flow in flows}
        self._probes = {name: SocketProbe(name) for name in sorted(stations)}
        self._reader = reader(self._probes)
        queued = plan.scenario.radio.queue == "fq_codel" and plan.radios
        self._wifi = WifiQueues(plan, records) if queued else None
        self._going: dict[str, Conversation] = {}
        self._last: dict[str, dict[str, Any]] = {}
        self._totals = deque([(0.0, 0)])
        """Time and bytes delivered, at the samples of the last second."""
        self._wired = WiredQueues(plan, namespaces, records)
        self._plan = plan
        self._subflows: dict[str, Subflows] = {}

    def begin(self, conversation: Conversation) -> None:
        """The flow's client has started."""
        if conversation.flow.transport == "tcp":
            for end in (conversation.flow.source, conversation.flow.destination):
                if end not in self._probes:
                    self._probes[end] = SocketProbe(end)
            self._going[conversation.name] = conversation

    def finish(self, conversation: Conversation, t_s: float) -> None:
        """Read the flow for the last time, at its stop."""
        if self._going.pop(conversation.name, None) is not None:
            self._sample_flows([conversation], t_s)

    def sample(self, t_s: float) -> None:
        """A row for every flow that is going and every queue."""
        self._sample_flows(self._going.values(), t_s)
        self._add_up(t_s)
        self._sample_queues(t_s)

    @property
    def can_sleep(self) -> bool:
        """Whether this kernel can take samples while its caller sleeps."""
        return isinstance(self._reader, ByCall)

    @property
    def has_sockets_alone(self) -> bool:
        """Whether this kernel's samples have all that `sample` would read."""
        flows = (conversation.flow for conversation in self._going.values())
        multipath = any(isinstance(flow, MptcpFlow) for flow in flows)
        return not (self._wifi or self._plan.queues or self._standby.is_needed or multipath)

    def sleep(self, times_s: Sequence[float], times: Times) -> Iterator[dict[float, float]]:
        """Sleep until the last one of ``times``, which in the scenario are ``times_s``. The kernel
        takes the samples. Whenever there are new ones, yield `goodput_kbps` by their times."""
        assert isinstance(self._reader, ByCall)
        going = tuple(self._going.values())
        due = iter(times_s)
        for samples in self._reader.sleep(_connections(going), times):
            goodputs_kbps = {}
            for read in samples:
                t_s = next(due)
                self._add_flows(going, read, t_s)
                self._add_up(t_s)
                goodputs_kbps[t_s] = self.goodput_kbps()
            self._sample_queues(t_s)
            yield goodputs_kbps

    def _sample_queues(self, t_s: float) -> None:
        self._wired.sample(t_s)
        if self._wifi is not None:
            self._wifi.sample(t_s)

    def _add_up(self, t_s: float) -> None:
        self._totals.append((t_s, sum(row["delivered_bytes"] for row in self._last.values())))
        while self._totals[1][0] <= t_s - GOODPUT_WINDOW_S + 1e-6:
            self._totals.popleft()

    def goodput_kbps(self) -> float:
        """Return the goodput of all TCP flows together: over the last second, or over the last
        interval if that is longer."""
        (then_s, then), (now_s, now) = self._totals[0], self._totals[-1]
        return (now - then) * 8e-3 / (now_s - then_s) if now_s > then_s else 0.0

    def end(self, t_s: float) -> None:
        """The measured part is over."""
        self._standby.finish(t_s)

    def close(self) -> None:
        self._reader.close()
        for probe in self._probes.values():
            probe.close()
        if self._wifi is not None:
            self._wifi.close()

    def _sample_flows(self, conversations: Iterable[Conversation], t_s: float) -> None:
        self._add_flows(conversations, self._reader.read(_connections(conversations)), t_s)

    def _add_flows(
        self, conversations: Iterable[Conversation], pairs: Iterable[Pair], t_s: float
    ) -> None:
        read = iter(pairs)
        for conversation in conversations:
            if isinstance(conversation.flow, MptcpFlow):
                self._sample_subflows(conversation, t_s)
                continue
            here, there = next(read)
            self._sample_way(conversation.name, here, there, conversation, t_s)
            if conversation.flow.protocol == "rr":  # its responses come from the other end
                self._sample_way(f"{conversation.name}<", there, here, conversation, t_s)

    def _sample_subflows(self, conversation: Conversation, t_s: float) -> None:
        """Add a row for each subflow, and one for the flow."""
        flow, name = conversation.flow, conversation.name
        previous = self._last.get(name)
        if previous is not None and previous["t_s"] == t_s:
            return
        known = self._subflows.get(name)
        if known is None:
            ends = flow.source, flow.destination
            near, far = paths(self._plan, *ends), paths(self._plan, *ends[::-1])
            known = Subflows(conversation, near, far)
            self._subflows[name] = known
        going = list(known.rows(self._probes[flow.source]))
        for row in going:
            self._records.add("subflows", t_s=t_s, **row)
        whole = known.row(going, self._probes[flow.destination])
        if whole is not None:
            whole["t_s"] = t_s
            self._standby.read()
            whole |= self._standby.columns(conversation, t_s)
            self._records.add("tcp", flow=name, **whole)
            self._last[name] = whole

    def _sample_way(
        self,
        name: str,
        sender: Info | None,
        receiver: Info | None,
        conversation: Conversation,
        t_s: float,
    ) -> None:
        """Add a row for what one end sends to the other."""
        previous = self._last.get(name)
        if sender is None or (previous is not None and previous["t_s"] == t_s):
            return
        self._sack.note(name, sender)
        row = sender_row(sender)
        row["t_s"] = t_s
        row["delivered_bytes"] = (
            receiver.bytes_received
            if receiver is not None
            else (previous["delivered_bytes"] if previous else 0)
        )
        self._standby.read()
        row |= self._standby.columns(conversation, t_s)
        self._records.add("tcp", flow=name, **row)
        self._last[name] = row


def _connections(conversations: Iterable[Conversation]) -> list[Connection]:
    """Return the connections but for those of MPTCP, which has subflows instead."""
    return [
        Connection(
            one.flow.source,
            one.flow.destination,
            (one.source_address, one.client_port),
            (one.destination_address, one.server_port),
        )
        for one in conversations
        if not isinstance(one.flow, MptcpFlow)
    ]
