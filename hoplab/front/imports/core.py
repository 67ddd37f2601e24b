# SPDX-License-Identifier: Apache-2.0
"""CORE's scenarios (``core-gui``'s XML, version 5 and later): devices, links, wireless networks.

CORE's places are pixels, ``scale`` metres to 100 of them. In its model ``basic_range`` stations
reach each other within a range in pixels, without contention; here they share a channel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hoplab.front.imports.network import Network, plain
from hoplab.front.imports.values import number
from hoplab.model.errors import ScenarioError
from hoplab.model.movement.markup import Reader
from hoplab.model.reading import read_text

MAX_BYTES = 16 << 20
DEEPEST = 30
WIRELESS = ("WIRELESS_LAN", "WIRELESS", "EMANE")
SWITCHED = ("SWITCH", "HUB")
SCALE_M = 150.0
"""CORE's default: metres to 100 pixels."""
RANGE_PX = 275.0
"""Of ``basic_range``."""
RATE_MBPS, DELAY_MS = 100.0, 0.1
"""Of a link without options. CORE does not limit it."""
CHANNELS = (36, 40, 44, 48, 52, 56, 60, 64)
LEFT = {
    "service": "services of devices",
    "configservice": "services of devices",
    "hook": "hooks",
    "emane_configuration": "EMANE's models",
    "service_configuration": "configurations of services",
}


@dataclass
class _Made:
    """A device or a network of the file."""

    name: str
    kind: str
    x: float = 0.0
    y: float = 0.0
    members: list[str] = field(default_factory=list)


class _File(Reader):
    def __init__(self, source: str) -> None:
        super().__init__(source, "scenario")
        self.devices: dict[str, _Made] = {}
        self.networks: dict[str, _Made] = {}
        self.links: list[tuple[str, str, dict[str, str]]] = []
        self.ranges: dict[str, float] = {}
        self.left: list[str] = []
        self.scale = SCALE_M
        self._current: _Made | None = None
        self._moving: str | None = None

    def begin(self, name: str, values: dict[str, str]) -> None:
        if self.depth > DEEPEST:
            raise ScenarioError(f"{self.where}: is nested too deeply; expected CORE's scenario")
        if name in ("device", "network"):
            made = _Made(values.get("name", ""), values.get("type", "").upper())
            (self.devices if name == "device" else self.networks)[self._key(name, values)] = made
            self._current = made
        elif name == "position" and self._current is not None:
            self._current.x = self.number(name, values, "x")
            self._current.y = self.number(name, values, "y")
        elif name == "session_origin" and "scale" in values:
            self.scale = self.number(name, values, "scale")
        elif name == "link":
            ends = [values.get(key) or values.get(f"node_{word}") for key, word in ENDS]
            if not all(ends):
                raise ScenarioError(f"{self.where}: <link> lacks an end; expected node1 and node2")
            self.links.append((str(ends[0]), str(ends[1]), {}))
        elif name == "options" and self.links:
            self.links[-1][2].update(values)
        elif name == "mobility_configuration":
            self._moving = values.get("node")
            if values.get("model") not in ("basic_range", None):
                self.left.append(f"movement by {plain(values.get('model'))}")
        elif name == "configuration" and self._moving and values.get("name") == "range":
            self.ranges[self._moving] = self.number(name, values, "value")
        elif name in LEFT:
            self.left.append(LEFT[name])

    def end(self, name: str) -> None:
        if name in ("device", "network"):
            self._current = None
        elif name == "mobility_configuration":
            self._moving = None

    def _key(self, name: str, values: dict[str, str]) -> str:
        if "id" not in values:
            raise ScenarioError(f"{self.where}: <{name}> has no id; expected CORE's scenario")
        return values["id"]


ENDS = (("node1", "one"), ("node2", "two"))


def read(path: Path) -> Network:
    """Return the network of CORE's XML. Raises `ScenarioError` for a file that is none."""
    file = _File(str(path))
    file.read(read_text(path, MAX_BYTES, "an XML file of CORE"))
    found = Network(path.stem)
    for line in file.left:
        found.left_out[line] += 1
    _stations(file, found)
    _wires(file, found, path)
    _wireless(file, found, path)
    return found


def _stations(file: _File, found: Network) -> None:
    """Add devices, and switches as stations that route. CORE's y grows downwards."""
    metres = file.scale / 100
    on_air = {key for key, made in file.networks.items() if made.kind in WIRELESS}
    switches = {key: made for key, made in file.networks.items() if made.kind in SWITCHED}
    with_radio = {b if a in on_air else a for a, b, _ in file.links if {a, b} & on_air}
    for key, made in {**file.devices, **switches}.items():
        x_m, y_m = made.x * metres, -made.y * metres
        found.add(key, made.name or f"n{key}", x_m=x_m, y_m=y_m, radio=key in with_radio)
    found.left_out["switches and hubs, which are routers now"] += len(switches)
    others = len(file.networks) - len(switches) - len(on_air)
    found.left_out["networks of other kinds"] += others


def _wires(file: _File, found: Network, path: Path) -> None:
    for one, other, options in file.links:
        if one in found.nodes and other in found.nodes:
            found.wire(found.nodes[one], found.nodes[other], **_options(options, found, path))
        elif not ({one, other} & set(file.networks)):
            raise ScenarioError(
                f"{path}: a link joins {plain(one)!r} and {plain(other)!r}, which are not all there"
            )


def _options(options: dict[str, str], found: Network, path: Path) -> dict[str, float]:
    """Return a link's keys. CORE has bit/s, microseconds and percent."""
    values = {key: number(word, f"{path}: {key}") for key, word in options.items() if key in KNOWN}
    rate = values.get("bandwidth", 0.0) / 1e6
    made = {"rate_mbps": rate or RATE_MBPS, "delay_ms": values.get("delay", 0.0) / 1000 or DELAY_MS}
    if loss := values.get("loss", values.get("per", 0.0)):
        made["loss"] = loss / 100
    for key in ("jitter", "dup"):
        if values.get(key):
            found.left_out[f"{key} of links"] += 1
    return made


KNOWN = ("bandwidth", "delay", "loss", "per", "jitter", "dup")


def _wireless(file: _File, found: Network, path: Path) -> None:
    """Join the members of each wireless network: one shares `[radio]`, several are backbones."""
    on_air = {key: made for key, made in file.networks.items() if made.kind in WIRELESS}
    for one, other, _ in file.links:
        for net, member in ((one, other), (other, one)):
            if net in on_air and member in found.nodes and member not in on_air[net].members:
                on_air[net].members.append(member)
    used = {key: made for key, made in on_air.items() if made.members}
    if not used:
        return
    ranges = {key: file.ranges.get(key, RANGE_PX) * file.scale / 100 for key in used}
    range_m = max(ranges.values())
    found.left_out["smaller ranges of wireless networks"] += len(set(ranges.values())) - 1
    found.radio = {"profile": "80211a", "range_m": range_m, "carrier_sense_m": 2.2 * range_m}
    if len(used) > len(CHANNELS):
        raise ScenarioError(
            f"{path}: has {len(used)} wireless networks, at most {len(CHANNELS)}; cut it down first"
        )
    for channel, made in zip(CHANNELS, used.values(), strict=False):
        members = [found.nodes[key] for key in made.members]
        if len(used) > 1:
            names = [node.name for node in members]
            found.backbones.append({"stations": names, "mode": "ad-hoc", "channel": channel})
        for i, node in enumerate(members):
            near = (
                other
                for other in members[:i]
                if (node.x_m - other.x_m) ** 2 + (node.y_m - other.y_m) ** 2 <= range_m**2
            )
            found.joined += [(node.name, other.name) for other in near]
