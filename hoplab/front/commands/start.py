# SPDX-License-Identifier: Apache-2.0
"""The text of a first scenario. It has the user's choices, each key with its sentence, and comments
with the keys that are often needed next."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from hoplab.model.keys.cells import Cell
from hoplab.model.keys.declare import Table
from hoplab.model.keys.program import Program
from hoplab.model.keys.radio import ProfileName
from hoplab.model.keys.scenario import (
    Flow,
    Link,
    Measure,
    Radio,
    Routing,
    RoutingName,
    Scenario,
    Station,
    Topology,
)
from hoplab.model.keys.variants import DEFAULT
from hoplab.model.resolve.resolve import radio_with_profile

TopologyName = Literal[
    "chain", "grid", "pair", "random-waypoint", "hidden", "hybrid", "dumbbell", "home"
]
TOPOLOGIES: dict[TopologyName, str] = {
    "chain": "stations in a line, each in reach of its neighbours",
    "grid": "stations in rows and columns",
    "pair": "two stations",
    "random-waypoint": "stations that walk about an area",
    "hidden": "two senders that cannot hear each other, one receiver between them",
    "hybrid": "a wired server, a gateway, a wireless station",
    "dumbbell": "six wired hosts, one bottleneck",
    "home": "an access point, two fast clients and a slow one, a wired server",
}
"""One sentence for each topology."""
WIRED = ("hybrid", "dumbbell", "home")
"""Topologies with hosts without a radio, which need static routes."""
ENDS = {
    "hidden": ("a", "b"),
    "hybrid": ("srv", "n0"),
    "dumbbell": ("n1", "n4"),
    "home": ("server", "laptop"),
}
"""Source and destination of the first flow, for topologies in files and for a home."""
CLIENTS = {"laptop": (8.0, 3.0), "phone": (-5.0, 6.0), "tv": (-7.0, -8.0)}
"""A home's clients, with their places in metres from the access point. The last is slow."""
BABELD = (
    "babeld -I daemon.pid -S daemon.state -C 'redistribute local ip {address}/32 allow' "
    "-C 'redistribute local deny' -C 'default type wireless' wlan0"
)
WIDTH = 26
"""Columns of a key and its value before its comment."""
LONGEST = 100
"""Longest line. A longer comment stands above its key."""

Pairs = dict[str, Any]


@dataclass(frozen=True)
class Start:
    """A newcomer's choices. ``stations`` counts for a chain and for stations that walk."""

    topology: TopologyName = "chain"
    stations: int = 4
    profile: ProfileName = "wavelan"
    routing: RoutingName = "dsr"
    congestion_control: str = DEFAULT["linux"]
    duration_s: float = 40.0

    @property
    def is_home(self) -> bool:
        return self.topology == "home"


def text(start: Start) -> str:
    """A scenario in TOML."""
    source, destination = _ends(start)
    lines = [
        "# What each key may be: docs/scenario.md, or 'hoplab schema' for your editor.",
        *_keys(Scenario, {"title": _title(start), "duration_s": start.duration_s, "seed": 1}),
        *(
            _home(start)
            if start.is_home
            else ["", "[topology]", *_keys(Topology, _topology(start))]
        ),
        *_of_radio(start),
        "",
        "[routing]",
        *_keys(Routing, {"protocol": start.routing}),
        *(_daemon() if start.routing == "own" else ()),
        "",
        "[[flow]]",
        *_keys(
            Flow,
            {
                "source": source,
                "destination": destination,
                "congestion_control": start.congestion_control,
            },
        ),
        *_wanted_next(Flow, {"start_s": 5.0, "window": 8}),
        *(_to_the_slow_client(start) if start.is_home else ()),
        "",
        "# Another flow: constant bit rate by UDP.",
        "# [[flow]]",
        '# protocol = "udp"',
        f'# source = "{source}"',
        f'# destination = "{destination}"',
        "# rate_kbps = 100",
        "",
        "[measure]",
        *_wanted_next(Measure, {"packets": True, "captures": [source]}),
    ]
    return "\n".join(lines) + "\n"


def _title(start: Start) -> str:
    """Return a title of what stays the same. Overrides and sweeps change variants, seeds and
    lengths."""
    return f"TCP over a {start.topology.replace('-', ' ')} network"


def _topology(start: Start) -> Pairs:
    pairs: Pairs = {"kind": start.topology}
    if start.topology in ("chain", "random-waypoint"):
        pairs["stations"] = start.stations
    if start.topology == "random-waypoint":
        pairs |= {"width_m": 1500.0, "height_m": 300.0, "max_speed_mps": 20.0}
    elif start.topology in ("chain", "grid", "pair"):
        pairs["spacing_m"] = _spacing_m(start.profile)
    elif start.topology == "dumbbell":
        pairs |= {"rate_mbps": 10.0, "delay_ms": 10.0}
    return pairs


def _spacing_m(profile: ProfileName) -> float:
    """Return a distance within reach of the neighbour, and out of reach of the next but one."""
    range_m = radio_with_profile(Radio(profile=profile)).range_m
    return 10.0 * math.floor(0.08 * range_m) if range_m else 200.0


def _ends(start: Start) -> tuple[str, str]:
    if start.topology in ENDS:
        return ENDS[start.topology]
    stations = {"pair": 2, "grid": 4}.get(start.topology, start.stations)
    return "n0", f"n{stations - 1}"


def _of_radio(start: Start) -> list[str]:
    if start.topology == "dumbbell":  # a dumbbell has none
        return []
    chosen = _keys(Radio, {"profile": start.profile})
    further: Pairs = {"queue": "fq_codel"} if start.is_home else {"rts_threshold": 0}
    return ["", "[radio]", *chosen, *_wanted_next(Radio, further)]


def _home(start: Start) -> Iterator[str]:
    """Yield the stations of a home, its cell and the wire to its server. Only a client of 802.11n
    has a rate of its own, which makes it slow."""
    yield from ("", "[[station]]")
    yield from _keys(Station, {"name": "ap"})
    for name, (x_m, y_m) in CLIENTS.items():
        yield from ("", "[[station]]")
        is_slow = name == list(CLIENTS)[-1] and start.profile == "80211n"
        slow = {"mcs": 0} if is_slow else {}
        yield from _keys(Station, {"name": name, "x_m": x_m, "y_m": y_m, **slow})
    yield from ("", "[[station]]")
    yield from _keys(Station, {"name": "server", "radio": False})
    yield from ("", "[[cell]]")
    yield from _keys(Cell, {"access_point": "ap", "clients": list(CLIENTS), "security": "wpa2"})
    yield from ("", "[[link]]")
    yield from _keys(Link, {"ends": ["ap", "server"], "rate_mbps": 100.0, "delay_ms": 10.0})


def _to_the_slow_client(start: Start) -> Iterator[str]:
    which = "the slow client" if start.profile == "80211n" else "another client"
    yield from ("", f"# To {which}.", "[[flow]]")
    keys = {"source": "server", "destination": list(CLIENTS)[-1]}
    keys["congestion_control"] = start.congestion_control
    yield from (f"{name} = {_toml(value)}" for name, value in keys.items())


def _daemon() -> Iterator[str]:
    """Yield a program that routes, for a user's own."""
    yield from ("", "# Your routing daemon, at each station; babeld stands for it.", "[[program]]")
    yield from _keys(Program, {"name": "daemon", "stations": "all", "run": BABELD})


def _keys(table: type[Table], pairs: Pairs, before: str = "") -> Iterator[str]:
    """Yield a line for each key: its value, then # and its allowed values or its meaning, and its
    unit."""
    for name, value in pairs.items():
        line = f"{before}{name} = {_toml(value)}".ljust(WIDTH)
        comment = f"# {_told(table.model_fields[name])}"
        if len(line) + len(comment) < LONGEST:
            yield f"{line} {comment}"
        else:
            yield from (comment, line.rstrip())


def _told(declared: FieldInfo) -> str:
    if get_origin(declared.annotation) is Literal:
        return ", ".join(get_args(declared.annotation))
    extra = declared.json_schema_extra
    unit = extra.get("unit") if isinstance(extra, dict) else None
    return f"{unit}: {declared.description}" if unit else str(declared.description)


def _wanted_next(table: type[Table], pairs: Pairs) -> Iterator[str]:
    return _keys(table, pairs, "# ")


def _toml(value: Any) -> str:
    """TOML writes these values as JSON does."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)
