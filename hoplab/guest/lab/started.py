# SPDX-License-Identifier: Apache-2.0
"""The second stage: channel and routing at work, no traffic yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hoplab.guest.lab.built import Built
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.clock import NANOSECONDS, Clock
from hoplab.guest.medium import start as medium
from hoplab.guest.network import cells, mesh, traced
from hoplab.guest.routing import daemons as routing
from hoplab.guest.routing import multipath, split, static
from hoplab.guest.system.processes import Daemons
from hoplab.model.network.multipath import connections

REAL_TIME_LEAD_S = (2.0, 0.5)
"""Seconds that starting takes at least in real time, and seconds for each station."""


@dataclass(frozen=True)
class Started:
    """A network that carries packets; ``clock`` says when the measured part begins."""

    built: Built
    clock: Clock
    daemons: Daemons
    real_time: bool


def started(built: Built, real_time: bool, undo: CleanUp, control: Path | None = None) -> Started:
    """Start medium, routing and what splits TCP; ``undo`` holds their end. In real time the medium
    takes manual changes at ``control``."""
    plan, namespaces = built.plan, built.network.namespaces
    lead_s = plan.scenario.warm_up_s + plan.early_s
    if real_time:
        lead_s += REAL_TIME_LEAD_S[0] + REAL_TIME_LEAD_S[1] * len(plan.address)
    clock = Clock(lead_s)
    built.account.realtime_epoch_ns = clock.realtime_epoch_ns()
    built.account.monotonic_epoch_ns = clock.epoch_ns
    if any(way.steps is not None for cable in plan.cables for way in cable.link.ways):
        traced.begin(plan, namespaces, clock.epoch_ns)
    daemons = Daemons()
    undo.later(daemons.stop)
    if plan.radios and not plan.scenario.is_found:
        medium.start(plan, clock.epoch_ns, built.out, real_time, daemons, control)
    if any(backbone.mode == "mesh" for backbone in plan.scenario.backbone):
        mesh.join(plan, namespaces)
    if plan.scenario.cell:
        cells.associate(plan, namespaces, built.out, daemons, clock.epoch_ns / NANOSECONDS)
    if plan.scenario.routing.protocol == "static":
        static.install(plan, namespaces)
        if next(connections(plan.scenario), None) is not None:
            multipath.install(plan, namespaces)
    elif plan.scenario.routing.protocol != "own":
        routing.start(plan, namespaces, built.out, clock.epoch_ns, daemons)
    if plan.splits and plan.scenario.routing.protocol != "dsr":
        split.start(plan, namespaces, built.out, clock.epoch_ns, daemons)
    return Started(built, clock, daemons, real_time)
