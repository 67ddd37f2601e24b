# SPDX-License-Identifier: Apache-2.0
"""A network as a reader of another tool's file found it, and the scenario that it becomes."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.declare import NAME_PATTERN
from hoplab.model.keys.stations import MAX_STATIONS

Document = dict[str, Any]
MAX_LINKS = 20_000
"""Links in a file of another tool. A scenario may have fewer."""
SHOWN = 60
"""Characters of a file's own text in a message or a comment."""
FLOW = {"congestion_control": "cubic"}
DURATION_S = 10.0


@dataclass
class Node:
    """A station. ``called`` is its name in the file."""

    name: str
    called: str
    x_m: float = 0.0
    y_m: float = 0.0
    radio: bool = False


@dataclass
class Network:
    """Stations by their keys in the file, and what joins them."""

    title: str
    nodes: dict[str, Node] = field(default_factory=dict)
    wires: list[Document] = field(default_factory=list)
    backbones: list[Document] = field(default_factory=list)
    radio: Document = field(default_factory=dict)
    further: Document = field(default_factory=dict)
    """Other tables of the scenario."""
    joined: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of stations that reach each other by radio, by their names."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What has no place in a scenario, with how often it was there."""

    def add(self, key: str, called: str, **place: Any) -> Node:
        """Add a station under a name of its own. Raises `ScenarioError` if there are too many."""
        if len(self.nodes) == MAX_STATIONS:
            raise ScenarioError(
                f"{self.title}: has more than {MAX_STATIONS} stations; cut it down first"
            )
        taken = {node.name for node in self.nodes.values()}
        node = self.nodes[key] = Node(_name(called, taken, len(self.nodes)), called, **place)
        return node

    def wire(self, one: Node, other: Node, **values: Any) -> None:
        """Join two stations by a wired link."""
        if one is other:
            self.left_out["links from a node to itself"] += 1
            return
        if len(self.wires) == MAX_LINKS:
            raise ScenarioError(f"{self.title}: has more than {MAX_LINKS} links; cut it down first")
        self.wires.append({"ends": [one.name, other.name], **values})

    def document(self, routing: str) -> Document:
        """Return the scenario, with one flow between two stations that are far from each other."""
        if not self.nodes:
            raise ScenarioError(f"{self.title}: has no node that a scenario could take")
        document: Document = {"title": self.title[:200], "duration_s": DURATION_S}
        document["station"] = [_station(node) for node in self.nodes.values()]
        if any(node.radio for node in self.nodes.values()):
            document["radio"] = self.radio
        document["routing"] = {"protocol": routing}
        if ends := farthest(self._pairs()):
            document["flow"] = [{"source": ends[0], "destination": ends[1], **FLOW}]
        tables = {"link": self.wires, "backbone": self.backbones, **self.further}
        document.update((name, table) for name, table in tables.items() if table)
        return document

    def _pairs(self) -> Iterator[tuple[str, str]]:
        yield from self.joined
        yield from ((wire["ends"][0], wire["ends"][1]) for wire in self.wires)


def _station(node: Node) -> Document:
    found: Document = {"name": node.name}
    if node.x_m or node.y_m:
        found |= {"x_m": round(node.x_m, 2), "y_m": round(node.y_m, 2)}
    return found if node.radio else {**found, "radio": False}


def _name(called: str, taken: set[str], number: int) -> str:
    """Return a station's name: the file's own if it is one, else a number after n."""
    name = called.lower()
    if re.fullmatch(NAME_PATTERN, name) and name not in taken:
        return name
    while (name := f"n{number}") in taken:
        number += 1
    return name


def farthest(pairs: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return two stations of the largest connected part that many hops lie between.

    The second is the farthest from the first, which is the farthest from the part's first station.
    No other pair of a tree has more hops between them.
    """
    near: dict[str, dict[str, None]] = {}
    for one, other in pairs:
        near.setdefault(one, {})[other] = None
        near.setdefault(other, {})[one] = None
    largest: list[str] = []
    left = dict.fromkeys(near)
    while left:
        part = _by_hops(next(iter(left)), near)
        left = dict.fromkeys(name for name in left if name not in set(part))
        largest = max(largest, part, key=len)
    if not largest:
        return None
    first = largest[-1]
    return first, _by_hops(first, near)[-1]


def _by_hops(start: str, near: dict[str, dict[str, None]]) -> list[str]:
    """Return the stations that ``start`` reaches, the nearest first (breadth-first search)."""
    found, waiting = {start: None}, deque([start])
    while waiting:
        for name in near[waiting.popleft()]:
            if name not in found:
                found[name] = None
                waiting.append(name)
    return list(found)


def plain(text: object) -> str:
    """Return a file's own text for a comment or a message: short, printable, on one line."""
    return "".join(c if c.isprintable() else "?" for c in str(text)[:SHOWN])
