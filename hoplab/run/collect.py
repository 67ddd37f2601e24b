# SPDX-License-Identifier: Apache-2.0
"""Collect a run: tables, digest and manifest from what the lab left."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from hoplab import __version__
from hoplab.errors import HoplabError
from hoplab.machine import surroundings
from hoplab.machine.sealed import Machine
from hoplab.processes import program
from hoplab.results import flows, packets, tables
from hoplab.results.flows import Course
from hoplab.scenario.model import Scenario
from hoplab.scenario.plan import plan


def programs(scenario: Scenario) -> list[str]:
    """The programs that the scenario needs beside the kernel."""
    names = ["iperf3"]
    if any(station.radio for station in scenario.station):
        names.append("hoplab-medium")
    protocol = scenario.routing.protocol
    if protocol in ("batmand", "babeld", "dsr"):
        names.append("hoplab-dsr" if protocol == "dsr" else protocol)
    work = plan(scenario)
    if work.captures or work.followed:
        names.append("tcpdump")
    return names


def gather(
    out: Path,
    scenario: Scenario,
    sealed: Machine | None,
    wall_s: float,
    status: int,
) -> dict[str, Any]:
    """Tables, digest and manifest from what the lab left in ``out``."""
    try:
        verdict = json.loads((out / "raw" / "verdict.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        verdict = {"status": None}
    if verdict["status"] is None:
        verdict["status"] = status
        verdict["error"] = f"the lab ended early, with status {status}"
    (out / "raw").mkdir(exist_ok=True)
    _flow_rows(out, scenario, verdict)
    made = tables.convert(out, scenario.duration_s)
    manifest = {
        "run": out.name,
        "digest": tables.digest(out, made),
        "hoplab_version": __version__,
        "kernel": verdict.pop("kernel", None),
        "machine": "host" if sealed is None else "uml",
        "machine_hash": None if sealed is None else sealed.id,
        "packages": None if sealed is None else sealed.packages(),
        "daemons": _versions(scenario) if sealed is None else _sealed_versions(scenario, sealed),
        "host": surroundings.found(),
        "seed": scenario.seed,
        "virtual_s": verdict.pop("virtual_s", None),
        "wall_s": round(wall_s, 3),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "routing": scenario.routing.model_dump(),
        "tcp_settings": verdict.pop("tcp_settings", {}),
        "medium": _medium_account(out),
        "verdict": verdict,
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return manifest


def _medium_account(out: Path) -> dict[str, Any] | None:
    """What the medium says of itself: the audit of frames, system calls, whether to trust it."""
    try:
        account: dict[str, Any] = json.loads((out / "raw" / "medium.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return account


def _flow_rows(out: Path, scenario: Scenario, verdict: dict[str, Any]) -> None:
    """Write raw records of tables `flows` and `packets` from the samples and the captures."""
    work = plan(scenario)
    date_ns = verdict.pop("realtime_epoch_ns", None)
    udp = {} if date_ns is None else packets.gather(out, work, date_ns)
    course = Course(
        tables.raw_rows(out, "tcp"),
        udp,
        verdict.pop("monotonic_epoch_ns", None),
        verdict.get("virtual_s") is not None,
    )
    with (out / "raw" / "flows.jsonl").open("w", encoding="utf-8") as file:
        for row in flows.rows(out, work, course):
            file.write(json.dumps(row) + "\n")


def _sealed_versions(scenario: Scenario, sealed: Machine) -> dict[str, str]:
    """Versions of the programs that took part, as the machine lists them."""
    listed = {package["name"]: package["version"] for package in sealed.description["packages"]}
    return {
        name: listed.get(name, f"hoplab {sealed.description['hoplab']}")
        for name in programs(scenario)
    }


def _versions(scenario: Scenario) -> dict[str, str]:
    """Versions of the programs that took part, as they tell them themselves."""
    versions: dict[str, str] = {}
    for name in programs(scenario):
        option = {"batmand": "-v", "babeld": "-V"}.get(name, "--version")
        try:
            answer = subprocess.run(
                [program(name), option], capture_output=True, text=True, timeout=10, check=False
            )
        except (HoplabError, OSError, subprocess.TimeoutExpired):
            versions[name] = "unknown"
            continue
        lines = (answer.stdout + answer.stderr).strip().splitlines()
        versions[name] = lines[0] if lines else "unknown"
    return versions
