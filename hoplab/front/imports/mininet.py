# SPDX-License-Identifier: Apache-2.0
"""Topologies that Mininet's editor MiniEdit saves (``.mn``, JSON): hosts, switches, links.

A script of Mininet is a program, not a topology: ``hoplab mininet`` runs it.
"""

from __future__ import annotations

import re
from pathlib import Path

from hoplab.front.imports.network import Document, Network, plain
from hoplab.front.imports.values import entries, json_of, number, table, text
from hoplab.model.errors import ScenarioError

RATE_MBPS, DELAY_MS = 100.0, 0.1
"""Of a link without options, which Mininet does not limit."""
PIXEL_M = 1.0
DURATION = re.compile(r"([0-9.]+)\s*(us|ms|s|)")
TAKEN = ("bw", "delay", "loss", "max_queue_size")


def read(path: Path) -> Network:
    """Return the network of MiniEdit's file. Raises `ScenarioError` for a file that is none."""
    whole = table(json_of(path), str(path))
    found = Network(path.stem)
    for kind in ("hosts", "switches"):
        for i, value in enumerate(entries(whole.get(kind, []), f"{path}: {kind}")):
            _add(table(value, f"{path}: {kind}.{i}"), found, f"{path}: {kind}.{i}")
    found.left_out["switches, which are routers now"] += len(whole.get("switches", []))
    found.left_out["controllers"] += len(entries(whole.get("controllers", []), f"{path}"))
    for i, value in enumerate(entries(whole.get("links", []), f"{path}: links")):
        _link(table(value, f"{path}: links.{i}"), found, f"{path}: links.{i}")
    return found


def _add(node: Document, found: Network, where: str) -> None:
    options = table(node.get("opts") or {}, f"{where}.opts")
    called = text(options.get("hostname", node.get("number")), f"{where}.opts.hostname")
    x, y = (number(node.get(axis, 0), f"{where}.{axis}") for axis in ("x", "y"))
    found.add(called, called, x_m=x * PIXEL_M, y_m=-y * PIXEL_M)
    for key in ("externalInterfaces", "privateDirectory", "vlanInterfaces", "startCommand"):
        found.left_out[f"{key} of hosts"] += bool(options.get(key))


def _link(link: Document, found: Network, where: str) -> None:
    ends = [text(link.get(end), f"{where}.{end}") for end in ("src", "dest")]
    if missing := [end for end in ends if end not in found.nodes]:
        if missing[0].startswith("c"):  # to a controller
            found.left_out["links of controllers"] += 1
            return
        raise ScenarioError(f"{where}: {missing[0]!r} is no host and no switch of the file")
    options = table(link.get("opts") or {}, f"{where}.opts")
    values: Document = {"rate_mbps": RATE_MBPS, "delay_ms": DELAY_MS}
    if options.get("bw") not in (None, ""):
        values["rate_mbps"] = number(options["bw"], f"{where}.opts.bw")
    if options.get("delay") not in (None, ""):
        values["delay_ms"] = milliseconds(options["delay"], f"{where}.opts.delay")
    if options.get("loss") not in (None, "", 0):
        values["loss"] = number(options["loss"], f"{where}.opts.loss") / 100
    if options.get("max_queue_size") not in (None, ""):
        packets = number(options["max_queue_size"], f"{where}.opts.max_queue_size")
        values["queue"] = {"packets": int(packets)}
    for key in options:
        if key not in TAKEN:
            found.left_out[f"{plain(key)} of links"] += 1
    found.wire(found.nodes[ends[0]], found.nodes[ends[1]], **values)


def milliseconds(value: object, where: str) -> float:
    """Return a time as Mininet's tc takes it: 5ms, 1s, 200us, or a number of microseconds."""
    word = str(value).strip()
    if match := DURATION.fullmatch(word):
        return number(match[1], where) * {"us": 0.001, "ms": 1.0, "s": 1000.0, "": 0.001}[match[2]]
    raise ScenarioError(f"{where}: {plain(value)!r}; expected a time such as 5ms")
