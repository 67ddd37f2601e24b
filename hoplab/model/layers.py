# SPDX-License-Identifier: Apache-2.0
"""The package's folders, by where their code runs. Each imports only from those above it.

The test of imports, the list of a sealed guest's contents and the table in `docs/architecture.md`
come from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Folder:
    """A folder of the package, two deep at most, and its purpose."""

    name: str
    purpose: str


@dataclass(frozen=True)
class Layer:
    """A top folder: where its code runs, and its folders from the bottom up."""

    name: str
    where: str
    folders: tuple[Folder, ...]
    in_guest: bool = False
    """Whether a sealed guest contains it."""


LAYERS = (
    Layer(
        "model",
        "anywhere: no process, no socket, no clock",
        (
            Folder("model", "errors, these layers, bounded reading, where the data are"),
            Folder("model.records", "the schema of every table, raw records"),
            Folder("model.movement", "places over time: its files, random waypoint, projection"),
            Folder("model.keys", "a scenario's tables, as written and as resolved"),
            Folder("model.network", "what follows: channels, powers, reach, addresses"),
            Folder("model.checks", "contradictions in a resolved scenario"),
            Folder("model.resolve", "from a file to a resolved scenario; profiles, presets"),
        ),
        in_guest=True,
    ),
    Layer(
        "guest",
        "as root inside a Linux kernel",
        (
            Folder("guest.system", "processes, signals, a record of what to undo"),
            Folder("guest.network", "namespaces, radios, wires, filters, ELFN's netlink"),
            Folder("guest.mininet", "stations that Mininet-WiFi makes"),
            Folder("guest.tcp", "variants, windows, settings of sockets"),
            Folder("guest.medium", "the medium daemon and its document"),
            Folder("guest.routing", "routes, routing daemons, Split-TCP"),
            Folder("guest.traffic", "flows and programs"),
            Folder("guest.probes", "sockets, connections, queues, packets"),
            Folder("guest.lab", "a lab from its build to its end; sessions and their prompt"),
        ),
        in_guest=True,
    ),
    Layer(
        "host",
        "outside the kernel under test",
        (
            Folder("host", "the terminal, a web server on the loopback address"),
            Folder("host.statistics", "means with their intervals"),
            Folder("host.machine", "which kernel: a sealed guest, an open one, this host"),
            Folder("host.selftest", "the kernel's own tests: build, guests, results"),
            Folder("host.results", "Parquet tables, digests, what a manifest may say"),
            Folder("host.analysis", "packet traces in ns-2's form"),
            Folder("host.stream", "live samples, passed on to sinks"),
            Folder("host.runs", "launch, collect, repeat"),
        ),
    ),
    Layer(
        "show",
        "outside, for people",
        (
            Folder("show.report", "a run's page"),
            Folder("show.paper", "figures of runs and sweeps for papers"),
            Folder("show.live", "a page that follows a run"),
        ),
    ),
    Layer(
        "many",
        "outside, many runs",
        (
            Folder("many.store", "runs by the hash of scenario and machine"),
            Folder("many.sweep", "points, engine, task"),
            Folder("many.study", "analysis, tables, pictures, verdicts"),
        ),
    ),
    Layer(
        "front",
        "outside, where users come in",
        (
            Folder("front.mininet", "Mininet-WiFi's scripts, measured, and its movement"),
            Folder("front", "the Python interface, doctor, the catalogue of examples"),
            Folder("front.imports", "other tools' networks as scenarios"),
            Folder("front.agents", "runs that an agent leads, for Gymnasium"),
            Folder("front.testing", "the pytest plugin"),
            Folder("front.pages", "pages and schemas made from declarations"),
            Folder("front.context", "a server of the Model Context Protocol"),
            Folder("front.commands", "the command line"),
        ),
    ),
)

IN_GUEST = tuple(layer.name for layer in LAYERS if layer.in_guest)
"""Top folders that a sealed guest contains as a whole. It contains nothing else of the package."""
