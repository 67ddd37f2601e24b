# SPDX-License-Identifier: Apache-2.0
"""Rows of table `events`: when clients of access points associate, and lose their access point."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from hoplab.guest.network.cells import log_of
from hoplab.model import reading
from hoplab.model.keys.resolved import ResolvedCell
from hoplab.model.network.plan import Plan
from hoplab.model.records.writer import Records

LINE = re.compile(
    rb"(?P<date>\d+\.\d+): \S+: CTRL-EVENT-(?:"
    rb"(?P<up>CONNECTED) - Connection to (?P<to>\S+)|"
    rb"DISCONNECTED bssid=(?P<of>\S+) reason=(?P<reason>-?\d+))",
    re.MULTILINE,
)
"""A line of wpa_supplicant, with the date in s and the access point's address."""


class Associations:
    """Reads the output of the clients' programs; costs a call for each client and sample."""

    def __init__(self, plan: Plan, out: Path, records: Records, realtime_epoch_ns: int) -> None:
        self._records = records
        self._epoch_ns = realtime_epoch_ns
        points = {cell: plan.wlan_in(cell.access_point, cell) for cell in plan.scenario.cell}
        self._cells = {plan.mac[wlan.name].encode(): cell for cell, wlan in points.items()}
        self._logs: list[tuple[ResolvedCell, str, IO[bytes]]] = []
        for cell in plan.scenario.cell:
            for client in cell.clients:
                wlan = plan.wlan_in(client, cell)
                self._logs.append((cell, client, reading.opened(log_of(out, wlan))))

    def begin(self) -> None:
        """Begin at time 0. All clients are associated, since `hoplab.guest.network.cells` waited
        for them."""
        for cell, client, log in self._logs:
            *_, last = [None, *LINE.finditer(log.read())]
            found = cell if last is None else self._cells.get(last["to"], cell)
            self._add(0.0, found, client, "associated", "")

    def read(self) -> None:
        """Take in what has happened since the last call."""
        for cell, client, log in self._logs:
            for line in log.readlines():
                if (found := LINE.match(line)) is None:
                    continue
                t_s = float(found["date"]) - self._epoch_ns / 1e9
                point = self._cells.get(found["to"] or found["of"], cell)
                if found["up"]:
                    self._add(t_s, point, client, "associated", "")
                else:
                    reason = f" reason={found['reason'].decode()}"
                    self._add(t_s, point, client, "disassociated", reason)

    def close(self) -> None:
        for _, _, log in self._logs:
            log.close()

    def _add(self, t_s: float, cell: ResolvedCell, client: str, kind: str, more: str) -> None:
        detail = f"cell={cell.name} access_point={cell.access_point} security={cell.security}"
        self._records.add(
            "events",
            t_s=round(t_s, 6),
            node=client,
            source="cell",
            kind=kind,
            detail=detail + more,
        )
