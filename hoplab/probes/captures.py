# SPDX-License-Identifier: Apache-2.0
"""Packet captures: tcpdump inside the stations.

tcpdump reads the kernel's ring, so it costs a few system calls a second, not one a packet.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from hoplab.errors import HoplabError
from hoplab.network.build import Network
from hoplab.processes import Daemon, program, wait_until
from hoplab.scenario.model import Flow, Scenario
from hoplab.traffic.flows import Transfer

AIR = "air"
HEADERS_BYTES = 128
"""Enough of a packet to know it by: cooked header, IP, TCP with options or UDP, iperf3's count."""
RING_KIB = 8192
RING_HANDOVER_S = 1.1
STOP_GRACE_S = 10.0


def observed(scenario: Scenario) -> list[Flow]:
    """Flows whose packets are followed: every UDP flow, and all where the scenario asks for it."""
    return [flow for flow in scenario.flow if flow.protocol == "udp" or scenario.measure.packets]


def start(
    scenario: Scenario, network: Network, transfers: list[Transfer], out: Path
) -> list[Daemon]:
    """Start every capture that the scenario needs; returns when all of them listen."""
    (out / "captures").mkdir(exist_ok=True)
    followed = {flow.name for flow in observed(scenario)}
    daemons = []
    for transfer in transfers:
        if transfer.name in followed:
            for end in (transfer.flow.source, transfer.flow.destination):
                path = out / "raw" / f"packets-{transfer.name}-{end}.pcap"
                ports = f"src port {transfer.client_port} and dst port {transfer.server_port}"
                command = ["-i", "any", "-s", str(HEADERS_BYTES)]
                command.append(f"{transfer.flow.protocol} and {ports}")
                daemons.append(_tcpdump(network, end, command, out, path))
    for target in scenario.measure.captures:
        if target == AIR:
            continue
        station, _, interface = target.partition(":")
        interface = interface or "any"
        path = out / "raw" / f"capture-{station}-{interface}.pcap"
        daemons.append(_tcpdump(network, station, ["-i", interface], out, path))
    for daemon in daemons:
        wait_until(daemon, b"listening on")
    return daemons


def _tcpdump(network: Network, station: str, command: list[str], out: Path, path: Path) -> Daemon:
    log = out / "logs" / f"{path.stem}.log"
    # Into a descriptor: tcpdump wants to own the files that it opens, which not every guest may.
    with path.open("wb") as file:
        process = network.namespaces.spawn(
            station,
            [
                program("tcpdump"),
                *("-n", "-Z", "root", "-B", str(RING_KIB), "--time-stamp-precision=nano"),
                *("-w", "-", *command),
            ],
            log,
            stdout=file,
        )
    return Daemon(path.stem, process, log)


def check_complete(daemons: list[Daemon]) -> None:
    """Raise `HoplabError` where a capture that has ended lost packets."""
    for daemon in daemons:
        for line in daemon.log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.endswith("dropped by kernel") and not line.startswith("0 "):
                raise HoplabError(f"{daemon.name}: {line}; the capture is not complete")


def stop(daemons: list[Daemon]) -> None:
    """Let every tcpdump write what it has; the kernel's ring hands over once a second."""
    if daemons:
        time.sleep(RING_HANDOVER_S)
    for daemon in daemons:
        if daemon.process.poll() is None:
            daemon.process.terminate()
    for daemon in daemons:
        try:
            daemon.process.wait(STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            daemon.process.kill()
            daemon.process.wait()
