# SPDX-License-Identifier: Apache-2.0
"""TCP and UDP flows: iperf3, and our own counted TCP transfers and spaced UDP packets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hoplab.network.build import Network
from hoplab.processes import program
from hoplab.scenario.model import Flow
from hoplab.scenario.streams import stream_seed
from hoplab.scenario.variants import VARIANTS
from hoplab.traffic import counted, spaced

SERVER_PORT = 5201
CLIENT_PORT = 20_001
"""Ports of the first flow's data connection; flow i uses the i-th after them. Fixed ports tell
the data connection from iperf3's control connection, which picks its own."""
COUNTED = (sys.executable, "-S", "-E", str(counted.__file__))
SPACED = (sys.executable, "-S", "-E", str(spaced.__file__))


@dataclass
class Transfer:
    """A flow in progress."""

    index: int
    flow: Flow
    server: subprocess.Popen[bytes] | None = None
    client: subprocess.Popen[bytes] | None = None
    server_report: Path | None = None

    @property
    def name(self) -> str:
        return str(self.flow.name)

    @property
    def counted(self) -> bool:
        """Whether it is a TCP transfer of so many packets."""
        return self.flow.protocol == "tcp" and self.flow.packets is not None

    @property
    def spaced(self) -> bool:
        """Whether its packets are spaced at random."""
        return self.flow.spacing == "random"

    @property
    def counted_bytes(self) -> int:
        return (self.flow.packets or 0) * (self.flow.packet_bytes or 0)

    @property
    def server_port(self) -> int:
        return SERVER_PORT + self.index

    @property
    def client_port(self) -> int:
        return CLIENT_PORT + self.index

    def stop(self) -> None:
        """End both processes, if they have not ended."""
        for process in (self.client, self.server):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


def kernel_congestion_control(flow: Flow) -> str:
    """Name of the kernel's algorithm behind a variant's name."""
    name = str(flow.congestion_control)
    variant = VARIANTS.get(name)
    return name if variant is None else variant.congestion_control


def start_server(transfer: Transfer, network: Network, out: Path) -> None:
    flow = transfer.flow
    address = network.address[flow.destination]
    report: Path | None
    if transfer.counted:
        report = out / "raw" / f"counted-{transfer.name}.json"
        ends = (address, str(transfer.server_port))
        command = [*COUNTED, "receive", *ends, str(transfer.counted_bytes), str(report)]
    elif transfer.spaced:
        report = None
        command = [*SPACED, "receive", address, str(transfer.server_port)]
    else:
        report = out / "raw" / f"iperf3-{transfer.name}-server.json"
        command = [
            program("iperf3"),
            *("--server", "--one-off", "--port", str(transfer.server_port)),
            *("--bind", address, "--json", "--logfile", str(report)),
        ]
    transfer.server_report = report
    log = out / "logs" / f"flow-{transfer.name}-server.log"
    transfer.server = network.namespaces.spawn(flow.destination, command, log)


def start_client(transfer: Transfer, network: Network, out: Path, seed: int) -> None:
    """``seed`` is the scenario's; a flow draws from the stream ``flow/NAME/spacing``."""
    log = out / "logs" / f"flow-{transfer.name}-client.log"
    source = transfer.flow.source
    if transfer.counted or transfer.spaced:
        own = _counted_client if transfer.counted else _spaced_client
        command = own(transfer, network, seed)
        transfer.client = network.namespaces.spawn(source, command, log)
        return
    # Else the client spins for a round trip (daemons/patience).
    environment = {**os.environ, "LD_PRELOAD": program("libhoplab_patience.so")}
    command = _iperf3_client(transfer, network, out)
    transfer.client = network.namespaces.spawn(source, command, log, env=environment)


def _counted_client(transfer: Transfer, network: Network, _seed: int) -> list[str]:
    flow = transfer.flow
    return [
        *(*COUNTED, "send", network.address[flow.destination], str(transfer.server_port)),
        *(network.address[flow.source], str(transfer.client_port)),
        *(str(flow.packets), str(flow.packet_bytes)),
        *(str(flow.mss), kernel_congestion_control(flow)),
    ]


def _spaced_client(transfer: Transfer, network: Network, seed: int) -> list[str]:
    flow = transfer.flow
    return [
        *(*SPACED, "send", network.address[flow.destination], str(transfer.server_port)),
        *(network.address[flow.source], str(transfer.client_port)),
        *(str(flow.packets or 0), str(flow.packet_bytes), str(1000 * (flow.rate_kbps or 0.0))),
        str(stream_seed(seed, f"flow/{flow.name}/spacing")),
    ]


def _iperf3_client(transfer: Transfer, network: Network, out: Path) -> list[str]:
    flow = transfer.flow
    report = out / "raw" / f"iperf3-{transfer.name}-client.json"
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
    return command


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


def counted_end_ns(transfer: Transfer) -> int | None:
    """When a counted transfer's last byte arrived, by CLOCK_MONOTONIC; None before that."""
    if not transfer.counted or transfer.server_report is None:
        return None
    try:
        answer = json.loads(transfer.server_report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return int(answer["end_ns"])
