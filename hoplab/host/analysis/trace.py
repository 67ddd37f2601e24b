# SPDX-License-Identifier: Apache-2.0
"""The events of one flow in order, in the form of ns-2's traces and the studies' tables.

``s``: a segment leaves its source. ``r``: it reaches its destination. ``D``: it is dropped on the
way, with the station and the reason. Acts of ELFN stand between them. ``s`` and ``r`` need
``measure.packets``; every run has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.keys.scenario import SETTINGS_OF
from hoplab.model.network.plan import Conversation, plan

ORDER = {"D": 0, "standby": 1, "resume": 2, "probe": 3, "r": 4, "s": 5}
"""Order of events at the same time: a consequence comes after its cause."""
SEQUENCES = 1 << 32


@dataclass(frozen=True)
class Line:
    """One event. ``sequence`` counts bytes from the flow's first, and is None if unknown."""

    t_s: float
    kind: str
    node: str
    sequence: int | None
    why: str

    def __str__(self) -> str:
        number = "-" if self.sequence is None else str(self.sequence)
        return f"{self.t_s:12.6f}  {self.kind:8} {self.node:6} {number:>10}  {self.why}".rstrip()


HEAD = f"{'t_s':>12}  {'event':8} {'node':6} {'seq':>10}  why"


def trace(results: Results, name: str | None = None) -> list[Line]:
    """Return every event of flow ``name``, by default of the first TCP flow."""
    flow = _conversation(results, name)
    packets = [row for row in results.rows("packets") if row["flow"] == flow.name]
    events = results.rows("events")
    first = packets[0]["seq"] if packets else None
    lines = list(_packets(flow, packets, first))
    for row in events:
        try:
            lines += [*_drops(flow, row, first), *_standby(flow, row, first)]
        except (LookupError, ValueError) as error:
            raise not_of_run(results.run_dir, "events", row["t_s"], error) from None
    return sorted(lines, key=lambda line: (line.t_s, ORDER[line.kind]))


def not_of_run(run: Path, table: str, t_s: float, error: Exception) -> ResultsError:
    """Return the error of a row that no run makes."""
    return ResultsError(
        f"{run / 'tables' / table}.parquet: a row of {t_s:.6f} s does not belong to its run "
        f"({type(error).__name__}: {error}); it is damaged, run it again"
    )


def _conversation(results: Results, name: str | None) -> Conversation:
    flows = [
        conversation
        for conversation in plan(results.resolved).conversations
        if conversation.flow.protocol == "tcp"
    ]
    for conversation in flows:
        if name in (None, conversation.name):
            return conversation
    there = ", ".join(conversation.name for conversation in flows) or "none"
    raise ResultsError(f"{results.run_dir}: no TCP flow {name!r}; there are: {there}")


def _relative(sequence: int, first: int | None) -> int | None:
    return None if first is None else (sequence - first) % SEQUENCES


def _packets(flow: Conversation, rows: list[dict[str, Any]], first: int | None) -> Iterator[Line]:
    seen: set[int] = set()
    for row in rows:
        again = row["seq"] in seen
        seen.add(row["seq"])
        number = _relative(row["seq"], first)
        yield Line(row["sent_s"], "s", flow.flow.source, number, "again" if again else "")
        if row["received_s"] is not None:
            yield Line(row["received_s"], "r", flow.flow.destination, number, "")


def fields(detail: str) -> dict[str, str]:
    """Return the ``key=value`` words of an event's detail."""
    return dict(word.split("=", 1) for word in detail.split() if "=" in word)


def _drops(flow: Conversation, row: dict[str, Any], first: int | None) -> Iterator[Line]:
    ports = f"{flow.client_port}>{flow.server_port}"
    if row["source"] not in SETTINGS_OF or row["kind"] != "drop":
        return
    told = fields(row["detail"])
    if told.get("src") == flow.source_address and told.get("ports") == ports:
        number = _relative(int(told["seq"]), first)
        yield Line(row["t_s"], "D", row["node"], number, told["cause"])


def _standby(flow: Conversation, row: dict[str, Any], first: int | None) -> Iterator[Line]:
    told = fields(row["detail"])
    if row["source"] != "elfn" or told.get("flow") != flow.name or row["kind"] not in ORDER:
        return
    kept = f"cwnd {told['cwnd']} ssthresh {told['ssthresh']} rto {told['rto_ms']} ms"
    why = {"standby": kept, "probe": ""}.get(row["kind"], f"{told.get('why')}, {kept}")
    number = _relative(int(told["seq"]), first)
    yield Line(row["t_s"], row["kind"], row["node"], number, why)
