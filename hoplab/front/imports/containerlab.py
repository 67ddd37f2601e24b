# SPDX-License-Identifier: Apache-2.0
"""Topologies of containerlab (``.clab.yml``): nodes and the links between them.

Images, configurations and what else makes a container has no place in a scenario.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from hoplab.front.imports.network import Network, plain
from hoplab.front.imports.values import entries, table, text
from hoplab.model.errors import ScenarioError
from hoplab.model.reading import read_text

MAX_BYTES = 1 << 20
DEEPEST = 30
RATE_MBPS, DELAY_MS = 100.0, 0.1
"""A veth pair is not limited. Containerlab's files have no impairments."""
OUTSIDE = ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy")
"""What a link's end names that is no node."""
BRIDGES = ("bridge", "ovs-bridge")


def read(path: Path) -> Network:
    """Return the network of a topology. Raises `ScenarioError` for a file that is none."""
    whole = table(_yaml(path), str(path))
    found = Network(path.name.removesuffix(".yml").removesuffix(".yaml").removesuffix(".clab"))
    topology = table(whole.get("topology"), f"{path}: topology")
    for name, value in table(topology.get("nodes"), f"{path}: topology.nodes").items():
        node = table(value or {}, f"{path}: topology.nodes.{plain(name)}")
        found.add(str(name), plain(name))
        found.left_out["bridges, which are routers now"] += node.get("kind") in BRIDGES
        for key in ("image", "startup-config", "exec", "binds"):
            found.left_out[f"{key} of nodes"] += key in node
    for i, value in enumerate(entries(topology.get("links") or [], f"{path}: topology.links")):
        where = f"{path}: topology.links.{i}"
        link = table(value, where)
        _link([_end(end, where) for end in _ends(link, where)], found, where)
    return found


def _ends(link: dict[str, Any], where: str) -> list[Any]:
    if "endpoints" in link:
        return entries(link["endpoints"], f"{where}.endpoints")
    return [link.get("endpoint"), str(link.get("type", "host"))]


def _end(end: object, where: str) -> str:
    """Return the node of an end, which is NODE:INTERFACE or an object."""
    if isinstance(end, dict):
        return text(end.get("node"), f"{where}.endpoints.node")
    return text(end, f"{where}.endpoints").partition(":")[0]


def _link(ends: list[str], found: Network, where: str) -> None:
    if len(ends) != 2:
        raise ScenarioError(f"{where}: has {len(ends)} ends; expected 2")
    if set(ends) & set(OUTSIDE) - set(found.nodes):
        found.left_out["links to the host or out of the lab"] += 1
        return
    for end in ends:
        if end not in found.nodes:
            raise ScenarioError(f"{where}: {end!r} is no node of the file")
    one, other = (found.nodes[end] for end in ends)
    found.wire(one, other, rate_mbps=RATE_MBPS, delay_ms=DELAY_MS)


def _yaml(path: Path) -> Any:
    """Return the value of a file of YAML. An alias may unfold a small file into one without end, so
    none is taken."""
    content = read_text(path, MAX_BYTES, "a topology of containerlab")
    try:
        depth = 0
        for event in yaml.parse(content, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1
                raise ScenarioError(f"{path}:{line}: has an alias; write out what it stands for")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ScenarioError(f"{path}: is nested too deeply; expected a topology")
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f":{mark.line + 1}"
        why = plain(getattr(error, "problem", None) or getattr(error, "reason", error))
        raise ScenarioError(f"{path}{line}: {why}; expected YAML") from None
    except ValueError as error:  # a date that there is not, a number of too many digits
        raise ScenarioError(f"{path}: {plain(error)}; expected a topology") from None
