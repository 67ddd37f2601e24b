# SPDX-License-Identifier: Apache-2.0
"""Which tool a file is of, and the text of the scenario that it becomes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import get_args

import tomli_w

from hoplab.front.imports.network import Network, plain
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.scenario import ProtocolName

FORMATS = {
    "meshviewer": ".json",
    "core": ".xml",
    "mininet": ".mn",
    "containerlab": ".yml, .yaml",
    "geojson": ".geojson",
    "svg": ".svg",
}
"""The tools, and how the names of their files end."""
PROTOCOLS = get_args(ProtocolName)
WIRED = "static"
"""What routes where stations have no radio."""


def format_of(path: Path, named: str | None) -> str:
    """Return the format of a file by its name, or the one that the user ``named``."""
    if named is not None:
        if named not in FORMATS:
            raise ScenarioError(f"--as: {named!r}; expected {', '.join(FORMATS)}")
        return named
    if path.suffix == ".py":
        raise ScenarioError(f"{path}: is a program; 'hoplab mininet {path}' runs it")
    for name, suffixes in FORMATS.items():
        if path.suffix and path.suffix in suffixes.split(", "):
            return name
    raise ScenarioError(f"{path}: has no known ending; say --as {' or '.join(FORMATS)}")


def read(path: Path, named: str | None) -> Network:
    """Return the network in a file of another tool."""
    reader = importlib.import_module(f"hoplab.front.imports.{format_of(path, named)}")
    network: Network = reader.read(path)
    return network


def text(network: Network, routing: str, source: str) -> str:
    """Return a scenario in TOML, with the names that stations had before."""
    if routing not in PROTOCOLS:
        raise ScenarioError(f"--routing: {routing!r}; expected {', '.join(PROTOCOLS)}")
    lines = [f"# From {plain(source)}, by 'hoplab import'."]
    lines += [f"# Left out: {line}." for line in left_out(network)]
    renamed = [node for node in network.nodes.values() if node.name != node.called]
    lines += [f"# {node.name} was {plain(node.called)}" for node in renamed]
    return "\n".join(lines) + "\n\n" + tomli_w.dumps(network.document(routing))


def left_out(network: Network) -> list[str]:
    """Return what has no place in a scenario, each with its number."""
    return [f"{count} {what}" for what, count in network.left_out.items() if count > 0]
