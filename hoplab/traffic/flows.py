# SPDX-License-Identifier: Apache-2.0
"""TCP and UDP flows through iperf3: commands, ports and what its own report adds."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from hoplab.network.build import Network
from hoplab.processes import program
from hoplab.scenario import Flow
from hoplab.tcp_profile import VARIANTS

SERVER_PORT = 5201
CLIENT_PORT = 20_001
"""Ports of the first flow's data connection; flow i uses the i-th after them. Fixed ports tell
the data connection from iperf3's control connection, which picks its own."""


@dataclass
class Transfer:
    """A flow in progress."""

    index: int
    flow: Flow
    server: subprocess.Popen[bytes] | None = None
    client: subprocess.Popen[bytes] | None = None
    reports: dict[str, Path] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.flow.name)

    @property
    def server_port(self) -> int:
        return SERVER_PORT + self.index

    @property
    def client_port(self) -> int:
        return CLIENT_PORT + self.index


def kernel_congestion_control(flow: Flow) -> str:
    """Name of the kernel's algorithm behind a variant's name."""
    name = str(flow.congestion_control)
    variant = VARIANTS.get(name)
    return name if variant is None else variant.congestion_control


def start_server(transfer: Transfer, network: Network, out: Path) -> None:
    flow = transfer.flow
    report = out / "raw" / f"iperf3-{transfer.name}-server.json"
    transfer.reports["server"] = report
    transfer.server = network.namespaces.spawn(
        flow.destination,
        [
            program("iperf3"),
            *("--server", "--one-off", "--port", str(transfer.server_port)),
            *("--bind", network.address[flow.destination]),
            *("--json", "--logfile", str(report)),
        ],
        out / "logs" / f"flow-{transfer.name}-server.log",
    )


def start_client(transfer: Transfer, network: Network, out: Path) -> None:
    flow = transfer.flow
    report = out / "raw" / f"iperf3-{transfer.name}-client.json"
    transfer.reports["client"] = report
    command = [
        program("iperf3"),
        *("--client", network.address[flow.destination]),
        *("--bind", network.address[flow.source]),
        *("--port", str(transfer.server_port), "--cport", str(transfer.client_port)),
        *("--json", "--logfile", str(report), "--interval", "0"),
    ]
    if flow.packets is not None:
        command += ["--blockcount", str(flow.packets), "--length", str(flow.packet_bytes)]
    else:
        command += ["--time", str(_whole_seconds(flow))]
    if flow.protocol == "tcp":
        command += ["--congestion", kernel_congestion_control(flow), "--set-mss", str(flow.mss)]
    else:
        command += _udp_options(flow)
    transfer.client = network.namespaces.spawn(
        flow.source, command, out / "logs" / f"flow-{transfer.name}-client.log"
    )


def _whole_seconds(flow: Flow) -> int:
    """iperf3 takes whole seconds; the lab stops the flow at its exact ``stop_s``."""
    assert flow.stop_s is not None
    return int(flow.stop_s - flow.start_s) + 2


def _udp_options(flow: Flow) -> list[str]:
    rate_bps = 0 if flow.rate_kbps is None else round(flow.rate_kbps * 1000)
    options = ["--udp", "--bitrate", str(rate_bps)]
    if flow.packets is None:
        options += ["--length", str(flow.packet_bytes)]
    if rate_bps:
        assert flow.packet_bytes is not None
        # iperf3 wakes at this tick and sends when it is behind its rate: a tick a packet spaces
        # packets evenly, its default of 1 ms sends bursts or wakes for nothing.
        interval_us = flow.packet_bytes * 8e6 / rate_bps
        options += ["--pacing-timer", str(max(1, round(interval_us)))]
    return options


def client_report(transfer: Transfer) -> dict[str, object]:
    """iperf3's own JSON of the sending side; empty when the flow was cut before it wrote one."""
    path = transfer.reports.get("client")
    try:
        loaded = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
