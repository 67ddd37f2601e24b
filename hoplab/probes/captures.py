# SPDX-License-Identifier: Apache-2.0
"""Packet captures: tcpdump inside the stations.

tcpdump reads the kernel's ring, so it costs a few system calls a second, not one a packet.
"""

from __future__ import annotations

import time
from pathlib import Path

from hoplab.errors import HoplabError
from hoplab.network.namespaces import Namespaces
from hoplab.processes import Daemon, Daemons, program, wait_until
from hoplab.scenario.plan import ANY, Plan

HEADERS_BYTES = 128
"""Enough of a packet to know it by: cooked header, IP, TCP with options or UDP, iperf3's count."""
RING_KIB = 8192
RING_HANDOVER_S = 1.1


def start(plan: Plan, namespaces: Namespaces, out: Path, tcpdumps: Daemons) -> None:
    """Start every capture that the plan has; returns when all of them listen."""
    (out / "captures").mkdir(exist_ok=True)
    started = []
    for conversation in plan.followed:
        flow = conversation.flow
        for end in (flow.source, flow.destination):
            path = out / "raw" / f"packets-{conversation.name}-{end}.pcap"
            ports = f"src port {conversation.client_port} and dst port {conversation.server_port}"
            options = ["-i", ANY, "-s", str(HEADERS_BYTES), f"{flow.protocol} and {ports}"]
            started.append(tcpdumps.add(_tcpdump(namespaces, end, options, out, path)))
    for capture in plan.captures:
        path = out / "raw" / f"capture-{capture.station}-{capture.interface}.pcap"
        options = ["-i", capture.interface]
        started.append(tcpdumps.add(_tcpdump(namespaces, capture.station, options, out, path)))
    for daemon in started:
        wait_until(daemon, b"listening on")


def _tcpdump(
    namespaces: Namespaces, station: str, options: list[str], out: Path, path: Path
) -> Daemon:
    log = out / "logs" / f"{path.stem}.log"
    # Into a descriptor: tcpdump wants to own the files that it opens, which not every guest may.
    with path.open("wb") as file:
        process = namespaces.spawn(
            station,
            [
                program("tcpdump"),
                *("-n", "-Z", "root", "-B", str(RING_KIB), "--time-stamp-precision=nano"),
                *("-w", "-", *options),
            ],
            log,
            stdout=file,
        )
    return Daemon(path.stem, process, log)


def stop(tcpdumps: Daemons) -> None:
    """Let every tcpdump write what it has; the kernel's ring hands over once a second. Raises
    `HoplabError` where one lost packets."""
    logs = [(daemon.name, daemon.log) for daemon in tcpdumps]
    if logs:
        time.sleep(RING_HANDOVER_S)
    tcpdumps.stop()
    for name, log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.endswith("dropped by kernel") and not line.startswith("0 "):
                raise HoplabError(f"{name}: {line}; the capture is not complete")
