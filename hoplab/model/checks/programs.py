# SPDX-License-Identifier: Apache-2.0
"""Refuse programs that contradict the rest of a resolved scenario."""

from __future__ import annotations

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.program import MAX_PROGRAMS, Additions
from hoplab.model.keys.resolved import Resolved


def check_programs(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first contradiction in the programs of a resolved scenario."""
    if scenario.machine != Additions() and not scenario.program:
        raise ScenarioError("machine: acts on nothing: there is no [[program]]; remove it")
    if scenario.machine.is_sealed and any(program.host for program in scenario.program):
        raise ScenarioError(
            "machine.packages: go into a sealed machine, and host = true takes programs of this "
            "computer; leave out one of them"
        )
    if len(scenario.program) > MAX_PROGRAMS:
        raise ScenarioError(
            f"program: {len(scenario.program)} with a copy at each station; at most {MAX_PROGRAMS}"
        )
    _routing(scenario)
    _multipath(scenario)
    stations = [station.name for station in scenario.station]
    names: set[str] = {flow.name for flow in scenario.flow}
    for i, program in enumerate(scenario.program):
        if program.station not in stations:
            shown = ", ".join(stations[:20])
            raise ScenarioError(
                f"program.{i}.station: no station {program.station!r}; there are: {shown}"
            )
        if program.name in names:
            raise ScenarioError(f"program.{i}.name: {program.name!r} is given twice")
        names.add(program.name)
        if program.start_s is not None and program.start_s >= scenario.duration_s:
            raise ScenarioError(
                f"program.{i}.start_s: {program.start_s:g} is not before duration_s "
                f"{scenario.duration_s:g}"
            )


def _multipath(scenario: Resolved) -> None:
    """Check that programs by MPTCP have peers, and routes by each path."""
    programs = [program for program in scenario.program if program.mptcp]
    if not programs:
        return
    if scenario.routing.protocol != "static" or scenario.is_found:
        raise ScenarioError(
            f"program {programs[0].name}: mptcp: needs a route by each path, which only "
            'routing.protocol = "static" gives; set it'
        )
    if len({program.station for program in programs}) < 2:
        raise ScenarioError(
            f"program {programs[0].name}: mptcp: no program of another station speaks it, and with "
            "one end alone a connection stays TCP; set it for both"
        )


def _routing(scenario: Resolved) -> None:
    """Check that programs route where nobody else does, and only there."""
    protocol = scenario.routing.protocol
    for program in scenario.program:
        if program.routing and (protocol != "own" or scenario.is_found):
            found = "a script's network" if scenario.is_found else f'routing.protocol "{protocol}"'
            raise ScenarioError(
                f"program {program.name}: routing: {found} has its own routes; set "
                'routing.protocol = "own", or remove it'
            )
        if program.routing and program.ready is not None:
            raise ScenarioError(
                f"program {program.name}: ready: it starts with the warm-up, which time 0 waits "
                "for; remove ready, and set warm_up_s"
            )
    if protocol == "own" and scenario.flow and not scenario.program and not scenario.is_found:
        raise ScenarioError(
            'routing.protocol: "own" installs no routes, and no [[program]] does; add your '
            'daemon with stations = "all", or choose another protocol'
        )
