# SPDX-License-Identifier: Apache-2.0
"""Maps of Freifunk and other community networks: meshviewer's ``meshviewer.json``, and the older
pair ``nodes.json`` (version 2) and ``graph.json`` beside it.

A radio link of the map becomes a measured link (`[[snr]]`), so a pair that the map does not join
hears nothing of each other. B.A.T.M.A.N.'s TQ of a link is the share of its own broadcasts that
arrive, in 255ths or as a share of 1. Frames of data are lost with the probability 1 - TQ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

from hoplab.front.imports.network import MAX_LINKS, Document, Network, plain
from hoplab.front.imports.values import entries, json_of, number, table, text
from hoplab.model.errors import ScenarioError
from hoplab.model.movement.geo import Degrees, middle, projected

RADIO = {"profile": "80211g", "cs_threshold_dbm": -90.0, "rx_threshold_dbm": -82.0}
SNR_DB = 25.0
"""Of every link of the map: enough for the profile's rate, so that only its TQ takes frames."""
MOST_LOSSES = 1000
"""Of a scenario."""
SMALLEST_LOSS = 0.01
LAN = {"rate_mbps": 100.0, "delay_ms": 0.1}


@dataclass(frozen=True)
class _Link:
    """A link of the map. Its qualities are shares of 1, from one end and from the other."""

    ends: tuple[str, str]
    kind: str
    quality: tuple[float, float]


def read(path: Path) -> Network:
    """Return the network of a map. Raises `ScenarioError` for a file that is none."""
    whole = table(json_of(path), str(path))
    nodes = list(_nodes(whole, path))
    links = list(_links(whole, path))
    found = Network(path.stem, radio=dict(RADIO))
    known = {key for key, *_ in nodes}
    online = {key for key, _, _, up in nodes if up}
    found.left_out["nodes that are offline"] += len(known - online)
    used = _usable(links, online, found)
    linked = {end for link in used for end in link.ends}
    found.left_out["nodes without a link by radio or LAN"] += len(online - linked)
    radio = {end for link in used if _is_radio(link) for end in link.ends}
    places = _placed({key: place for key, _, place, _ in nodes if key in linked}, found, path)
    for key, called, _, _ in nodes:
        if key in linked and key not in found.nodes:
            x_m, y_m = places.get(key, (0.0, 0.0))
            found.add(key, called, x_m=x_m, y_m=y_m, radio=key in radio)
    _join(used, found)
    return found


def _nodes(whole: Document, path: Path) -> Iterator[tuple[str, str, Degrees | None, bool]]:
    """Yield key, name, place and state of each node."""
    listed = whole.get("nodes")
    if isinstance(listed, dict):  # version 1 has them by their keys
        listed = list(listed.values())
    for i, value in enumerate(entries(listed, f"{path}: nodes")):
        where = f"{path}: nodes.{i}"
        node = table(value, where)
        about = table(node.get("nodeinfo", node), f"{where}.nodeinfo")
        flags = table(node.get("flags") or {}, f"{where}.flags")
        key = text(about.get("node_id", about.get("id")), f"{where}.node_id")
        up = bool(node.get("is_online", flags.get("online", True)))
        yield key, text(about.get("hostname", key), f"{where}.hostname"), _place(about, where), up


def _place(about: Document, where: str) -> Degrees | None:
    location = about.get("location")
    if not isinstance(location, dict) or location.get("latitude") is None:
        return None
    latitude = number(location["latitude"], f"{where}.location.latitude")
    longitude = number(location.get("longitude"), f"{where}.location.longitude")
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ScenarioError(
            f"{where}.location: {latitude:g}, {longitude:g}; expected degrees of a place on Earth"
        )
    return Degrees(latitude, longitude)


def _links(whole: Document, path: Path) -> Iterator[_Link]:
    """Yield the links of meshviewer's own list, or of the older ``graph.json`` beside the file."""
    if "links" in whole:
        listed = entries(whole["links"], f"{path}: links")
        _few(len(listed), path)
        for i, value in enumerate(listed):
            where = f"{path}: links.{i}"
            link = table(value, where)
            ends = tuple(text(link.get(end), f"{where}.{end}") for end in ("source", "target"))
            quality = tuple(
                _share(link.get(key, 1.0), f"{where}.{key}") for key in ("source_tq", "target_tq")
            )
            yield _Link((ends[0], ends[1]), str(link.get("type", "wifi")), (quality[0], quality[1]))
        return
    graph = path.with_name("graph.json")
    if not graph.exists():
        raise ScenarioError(f"{path}: has no links, and no graph.json is beside it; copy it there")
    inner = table(table(json_of(graph), str(graph)).get("batadv"), f"{graph}: batadv")
    members = [table(v, f"{graph}: nodes") for v in entries(inner.get("nodes"), f"{graph}: nodes")]
    listed = entries(inner.get("links"), f"{graph}: links")
    _few(len(listed), graph)
    yield from starmap(
        lambda i, value: _old(table(value, f"{graph}: links.{i}"), members, f"{graph}: links.{i}"),
        enumerate(listed),
    )


def _old(link: Document, members: list[Document], where: str) -> _Link:
    """Return a link of ``graph.json``: its ends are numbers of nodes, and its ``tq`` is 1 / TQ."""
    ends = []
    for end in ("source", "target"):
        index = link.get(end)
        if not isinstance(index, int) or not 0 <= index < len(members):
            raise ScenarioError(f"{where}.{end}: {plain(index)!r}; expected a number of a node")
        ends.append(text(members[index].get("node_id", ""), f"{where}.{end}"))
    tq = number(link.get("tq", 1.0), f"{where}.tq")
    share = 1 / tq if tq >= 1 else 1.0
    return _Link((ends[0], ends[1]), "vpn" if link.get("vpn") else "wifi", (share, share))


def _few(links: int, path: Path) -> None:
    if links > MAX_LINKS:
        raise ScenarioError(f"{path}: has {links} links, at most {MAX_LINKS}; cut it down first")


def _share(value: Any, where: str) -> float:
    tq = number(value, where)
    tq = tq / 255 if tq > 1 else tq
    if not 0 <= tq <= 1:
        raise ScenarioError(f"{where}: {plain(value)}; expected 0 to 1, or up to 255")
    return tq


def _is_radio(link: _Link) -> bool:
    return link.kind.startswith("wifi")


def _usable(links: list[_Link], online: set[str], found: Network) -> list[_Link]:
    """Return the links that a scenario can have: between two that are there, each pair once."""
    used: dict[frozenset[str], _Link] = {}
    for link in links:
        pair = frozenset(link.ends)
        if link.kind.startswith(("vpn", "tunnel", "l2tp", "fastd", "wireguard")):
            found.left_out["links through tunnels"] += 1
        elif not pair <= online or len(pair) < 2:
            found.left_out["links of nodes that are not there"] += 1
        elif _is_radio(link) and not any(link.quality):
            found.left_out["radio links with a TQ of 0"] += 1
        elif pair in used and sum(used[pair].quality) >= sum(link.quality):
            found.left_out["second links of a pair, the worse one"] += 1
        else:
            found.left_out["second links of a pair, the worse one"] += pair in used
            used[pair] = link
    return list(used.values())


def _placed(
    places: dict[str, Degrees | None], found: Network, path: Path
) -> dict[str, tuple[float, float]]:
    """Return places in m from the south-western corner."""
    known = {key: place for key, place in places.items() if place is not None}
    found.left_out["places that the map does not have"] += len(places) - len(known)
    if not known:
        return {}
    try:
        points = list(projected(list(known.values()), middle(list(known.values()))))
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from None
    west, south = min(x for x, _ in points), min(y for _, y in points)
    return {key: (x - west, y - south) for key, (x, y) in zip(known, points, strict=True)}


def _join(links: list[_Link], found: Network) -> None:
    """Add measured links with their losses, and wires."""
    snr: list[Document] = []
    losses: list[Document] = []
    for link in links:
        one, other = (found.nodes[end] for end in link.ends)
        if not _is_radio(link):
            found.wire(one, other, **LAN)
            continue
        found.joined.append((one.name, other.name))
        for src, dst, quality in (
            (one, other, link.quality[0]),
            (other, one, link.quality[1]),
        ):
            ends = {"src": src.name, "dst": dst.name}
            snr.append({**ends, "points": [[0, SNR_DB]]})
            if (lost := round(1 - quality, 3)) >= SMALLEST_LOSS:
                losses.append({**ends, "rate": lost})
    losses.sort(key=lambda loss: -loss["rate"])
    found.left_out["smallest losses, over the scenario's 1000"] += max(0, len(losses) - MOST_LOSSES)
    found.further = {"loss": losses[:MOST_LOSSES], "snr": snr}
