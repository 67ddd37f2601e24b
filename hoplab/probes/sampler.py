# SPDX-License-Identifier: Apache-2.0
"""Samples of every flow and wired queue at the scenario's interval."""

from __future__ import annotations

from typing import Any

from hoplab.network.build import Network
from hoplab.network.wired import End
from hoplab.probes.sockets import SocketProbe, sender_row
from hoplab.records.writer import Records
from hoplab.scenario.model import Scenario
from hoplab.traffic.flows import Transfer


class Sampler:
    """Reads sockets and queues; writes tables `tcp` and `queues`; sums flows up."""

    def __init__(
        self,
        scenario: Scenario,
        network: Network,
        transfers: list[Transfer],
        records: Records,
    ) -> None:
        self._network = network
        self._records = records
        self._tcp = [t for t in transfers if t.flow.protocol == "tcp"]
        ends = {t.flow.source for t in self._tcp} | {t.flow.destination for t in self._tcp}
        self._probes = {name: SocketProbe(name) for name in sorted(ends)}
        self._last: dict[str, dict[str, Any]] = {}
        self._summary: dict[str, dict[str, Any]] = {}
        self._rtt: dict[str, list[tuple[float, float]]] = {}
        self._second_ago = 0
        self._rate_kbps = 0.0
        self._per_second = max(1, round(1.0 / scenario.measure.interval_s))
        self._count = 0
        self._wired = [
            (
                end,
                network.namespaces.index(end.station, end.interface),
                network.namespaces.netlink(end.station),
            )
            for ends_of in network.wired_ends.values()
            for end in ends_of
        ]

    def sample(self, t_s: float) -> None:
        for transfer in self._tcp:
            if transfer.name not in self._summary and transfer.client is not None:
                self._sample_flow(transfer, t_s)
        for end, index, netlink in self._wired:
            self._sample_queue(end, index, netlink, t_s)
        self._count += 1
        if self._count % self._per_second == 0:
            total = sum(row["delivered_bytes"] for row in self._last.values())
            self._rate_kbps = (total - self._second_ago) * 8 / 1000
            self._second_ago = total

    def total_goodput_kbps(self) -> float:
        """Goodput of all TCP flows together over the last second, in kbit/s."""
        return round(self._rate_kbps, 1)

    def _sample_flow(self, transfer: Transfer, t_s: float) -> None:
        previous = self._last.get(transfer.name)
        if previous is not None and previous["t_s"] == t_s:
            return
        flow, address = transfer.flow, self._network.address
        near = (address[flow.source], transfer.client_port)
        far = (address[flow.destination], transfer.server_port)
        sender = self._probes[flow.source].connection(near, far)
        if sender is None:
            return
        receiver = self._probes[flow.destination].connection(far, near)
        row = sender_row(sender)
        row["t_s"] = t_s
        row["delivered_bytes"] = (
            receiver["bytes_received"]
            if receiver is not None
            else (previous["delivered_bytes"] if previous else 0)
        )
        self._records.add("tcp", flow=transfer.name, **row)
        self._last[transfer.name] = row
        self._rtt.setdefault(transfer.name, []).append((t_s, row["rtt_ms"]))

    def _sample_queue(self, end: End, index: int, netlink: Any, t_s: float) -> None:
        root: Any = None
        leaf: Any = None
        for qdisc in netlink.get_qdiscs(index):
            if qdisc["parent"] == 0xFFFFFFFF:
                root = qdisc
            else:
                leaf = qdisc
        if root is None or leaf is None:
            return
        queue = leaf.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")
        basic = root.get_attr("TCA_STATS2").get_attr("TCA_STATS_BASIC")
        self._records.add(
            "queues",
            t_s=round(t_s, 6),
            node=end.station,
            interface=end.interface,
            backlog_packets=queue["qlen"],
            backlog_bytes=queue["backlog"],
            drops=queue["drops"],
            sent_packets=basic["packets"],
        )

    def finish(self, transfer: Transfer, t_s: float, complete_s: float | None = None) -> None:
        """Read the flow for the last time, at its stop; a counted one was complete before."""
        if transfer.flow.protocol != "tcp":
            return
        self._sample_flow(transfer, t_s)
        last = self._last.get(transfer.name, {})
        end_s = t_s if complete_s is None else complete_s
        rtts = [rtt for at_s, rtt in self._rtt.get(transfer.name, []) if at_s <= end_s]
        delivered = last.get("delivered_bytes", 0)
        self._summary[transfer.name] = {
            "delivered_bytes": delivered,
            "retransmits": last.get("retransmits"),
            "timeouts": last.get("timeouts"),
            "rtt_ms_mean": round(sum(rtts) / len(rtts), 3) if rtts else None,
            "goodput_kbps": round(delivered * 8e-3 / (end_s - transfer.flow.start_s), 3),
            "stop_s": end_s,
        }

    def summaries(self) -> dict[str, dict[str, Any]]:
        """What each finished TCP flow came to."""
        return self._summary

    def close(self) -> None:
        for probe in self._probes.values():
            probe.close()
