# SPDX-License-Identifier: Apache-2.0
"""A flow of `protocol = "rrul"`: the flows of flent's test Realtime Response Under Load.

Four TCP transfers each way, marked CS0, CS1, CS5 and EF, and echoes that begin `LEAD_S` before
them and end as much after (flent's tests/rrul.conf). Flent's datagrams of netperf or irtt are
echoes of ICMP with their marks here.
"""

from __future__ import annotations

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.traffic import Flow

CLASSES = {"be": None, "bk": 8, "cs5": 40, "ef": 46}
"""Code points of the transfers."""
ECHOES = {"icmp": None, "be": None, "bk": 8, "ef": 46}
LEAD_S = 5.0
STEP_S = 0.2
"""Between echoes; flent's STEP_SIZE."""
LEAST_S = 2 * LEAD_S + 1


def names(name: str) -> dict[str, str]:
    """Return flent's name of each series by the flow's name here."""
    found = {}
    for direction, word in (("up", "upload"), ("down", "download")):
        for mark in CLASSES:
            found[f"{name}-{direction}-{mark}"] = f"TCP {word} {mark.upper()}"
    for mark in ECHOES:
        of = "ICMP" if mark == "icmp" else f"UDP {mark.upper()}"
        found[f"{name}-ping-{mark}"] = f"Ping (ms) {of}"
    return found


def flows(flow: Flow, index: int, duration_s: float) -> list[Flow]:
    """Return the flows of one of `protocol = "rrul"`, any other as it is. Raises
    `ScenarioError`."""
    if flow.protocol != "rrul":
        return [flow]
    name = flow.name or f"flow{index}"
    stop_s = min(flow.stop_s or duration_s, duration_s)
    if stop_s - flow.start_s < LEAST_S:
        raise ScenarioError(
            f"flow.{index}: rrul lasts {stop_s - flow.start_s:g} s, but loads the path from "
            f"{LEAD_S:g} s after its begin to {LEAD_S:g} s before its end; give at least "
            f"{LEAST_S:g} s"
        )
    ends = {"source": flow.source, "destination": flow.destination}
    back = {"source": flow.destination, "destination": flow.source}
    transfer = {
        "ip": flow.ip,
        "start_s": flow.start_s + LEAD_S,
        "stop_s": stop_s - LEAD_S,
        "congestion_control": flow.congestion_control,
        "sack": flow.sack,
    }
    made = [
        {"name": f"{name}-{direction}-{mark}", "dscp": dscp, **way, **transfer}
        for direction, way in (("up", ends), ("down", back))
        for mark, dscp in CLASSES.items()
    ]
    echo = {"protocol": "ping", "ip": flow.ip, "interval_s": STEP_S, **ends}
    times = {"start_s": flow.start_s, "stop_s": stop_s}
    made += [
        {"name": f"{name}-ping-{mark}", "dscp": dscp, **echo, **times}
        for mark, dscp in ECHOES.items()
    ]
    return [
        Flow.model_validate({key: value for key, value in one.items() if value is not None})
        for one in made
    ]
