# SPDX-License-Identifier: Apache-2.0
"""A run's flows: iperf3, and our own datagrams, counted transfers, echoes and requests."""

from __future__ import annotations

import errno
import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system.processes import beside, last_line, program
from hoplab.guest.traffic import counted, datagrams
from hoplab.model import reading, writing
from hoplab.model.keys.declare import MAX_DURATION_S
from hoplab.model.keys.resolved import ResolvedFlow, TcpFlow, UdpFlow
from hoplab.model.keys.variants import variant
from hoplab.model.network.plan import Conversation

NOBODY_ANSWERS = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EAGAIN)
"""The last of these ends iperf3's wait of 30 s for the answer to its first datagram, which it sends
once."""
COUNTED = (sys.executable, "-S", "-E", str(counted.__file__))
EXCHANGES = (sys.executable, "-S", "-E", str(Path(__file__).with_name("exchanges.py")))
"""Run as a program at stations, so it is not imported."""
END_S = 5.0
"""Seconds that a program has to write the rest of its output."""


@dataclass(frozen=True)
class Side:
    """The program at one end of a flow."""

    conversation: Conversation
    role: str
    """``client``, at the flow's source, or ``server``."""
    process: subprocess.Popen[bytes]
    report: Path
    """The final report of iperf3 or the counted transfer; other programs write none."""
    log: Path

    def stop(self) -> None:
        """End the program if it still runs."""
        if self.process.poll() is None:
            if self._has_last_rows:
                self.process.terminate()
                self._wait()
            self.process.kill()
            self.process.wait()

    @property
    def _has_last_rows(self) -> bool:
        """Whether it writes rows when it is asked to end: of what has not been answered, or of the
        datagrams since its last row."""
        writer = "client" if self.conversation.flow.is_exchange else "server"
        return not self.conversation.is_iperf3 and self.role == writer

    def _wait(self) -> None:
        """Wait for its end, for `END_S` at most. Other than `Popen.wait`, which looks again and
        again, this takes no time of a guest that the program does not take."""
        descriptor = os.pidfd_open(self.process.pid)
        try:
            select.select([descriptor], [], [], END_S)
        finally:
            os.close(descriptor)


def kernel_congestion_control(flow: TcpFlow) -> str:
    """Return the kernel's name for a variant's algorithm."""
    found = variant(flow.congestion_control)
    return flow.congestion_control if found is None else found.congestion_control


def counted_report(out: Path, name: str) -> Path:
    """Return the file with the time of a counted transfer's last byte, which its receiver
    writes."""
    return out / "raw" / f"counted-{name}.json"


def iperf3_report(conversation: Conversation, out: Path, role: str) -> Path:
    """Return the file of a side's final report. Make it, so that iperf3 waits for no pipe that a
    program put there. Raises `OSError` if it cannot be made."""
    report = out / "raw" / f"iperf3-{conversation.name}-{role}.json"
    if conversation.is_iperf3:
        writing.new(report).close()
    return report


def start_server(
    conversation: Conversation,
    namespaces: Namespaces,
    out: Path,
    epoch_ns: int,
    interval_s: float,
) -> Side:
    """Start the program to which the flow's client will send. Samples of its own are ``interval_s``
    apart; ``epoch_ns`` is CLOCK_MONOTONIC at time 0."""
    name = conversation.name
    ends = (conversation.destination_address, str(conversation.server_port))
    report = iperf3_report(conversation, out, "server")
    flow = conversation.flow
    if isinstance(flow, TcpFlow) and flow.counted_bytes is not None:
        report = counted_report(out, name)
        size = str(flow.counted_bytes)
        command = [*COUNTED, "receive", *ends, size, str(report), *_class_words(flow)]
    elif flow.is_exchange:
        command = [*EXCHANGES, "respond", _settings(conversation)]
    elif not conversation.is_iperf3:
        command = datagrams.receiver(conversation, out, epoch_ns, interval_s)
    else:
        command = [
            program("iperf3"),
            *("--server", "--one-off", "--port", ends[1]),
            *("--bind", ends[0], "--json", "--logfile", str(report)),
            # Otherwise it keeps a report of every second in memory. It also ends a test in which
            # nothing came for two minutes, as happens with moving stations.
            *("--interval", "0", "--rcv-timeout", str(MAX_DURATION_S * 1000)),
        ]
    log = out / "logs" / f"flow-{name}-server.log"
    environment = {**os.environ, **beside(command)}
    process = namespaces.spawn(conversation.flow.destination, command, log, env=environment)
    return Side(conversation, "server", process, report, log)


def start_client(
    conversation: Conversation, namespaces: Namespaces, out: Path, epoch_ns: int
) -> Side:
    """Begin to send; ``epoch_ns`` is CLOCK_MONOTONIC at time 0."""
    name, source = conversation.name, conversation.flow.source
    log = out / "logs" / f"flow-{name}-client.log"
    report = iperf3_report(conversation, out, "client")
    flow = conversation.flow
    if isinstance(flow, TcpFlow) and flow.is_counted:
        process = namespaces.spawn(source, _counted_client(conversation, flow), log)
    elif flow.is_exchange:
        role = "ping" if flow.protocol == "ping" else "request"
        rows = {"rows": str(out / "raw" / f"exchanges-{name}.jsonl"), "epoch_ns": epoch_ns}
        command = [*EXCHANGES, role, _settings(conversation, **rows)]
        process = namespaces.spawn(source, command, log)
    elif not conversation.is_iperf3:
        process = namespaces.spawn(source, datagrams.sender(conversation, out), log)
    else:
        command = _iperf3_client(conversation, report)
        environment = {**os.environ, **beside(command)}
        process = namespaces.spawn(source, command, log, env=environment)
    return Side(conversation, "client", process, report, log)


def _class_words(flow: ResolvedFlow) -> list[str]:
    """Return the option for the traffic class of the flow's packets, if the flow has its own."""
    return [] if flow.dscp is None else [str(flow.traffic_class)]


def _counted_client(conversation: Conversation, flow: TcpFlow) -> list[str]:
    return [
        *(*COUNTED, "send", conversation.destination_address, str(conversation.server_port)),
        *(conversation.source_address, str(conversation.client_port)),
        *(str(flow.packets), str(flow.packet_bytes)),
        *(str(flow.mss), kernel_congestion_control(flow)),
        *_class_words(flow),
    ]


def _settings(conversation: Conversation, **more: Any) -> str:
    """Return the settings of a flow whose packets are answered, for either end."""
    flow = conversation.flow
    names = ("packets", "packet_bytes", "interval_s", "timeout_s", "transactions")
    draws = {name: getattr(flow, name) for name in ("request", "response", "think")}
    return json.dumps(
        {
            "flow": conversation.name,
            "address": conversation.destination_address,
            "port": conversation.server_port,
            "own_address": conversation.source_address,
            "own_port": conversation.client_port,
            "identifier": conversation.client_port,
            "stop_s": conversation.stop_s,
            "seed": conversation.seed,
            "traffic_class": flow.traffic_class,
            **{name: getattr(flow, name) for name in names},
            **{name: draw and draw.model_dump() for name, draw in draws.items()},
            **more,
        }
    )


def _iperf3_client(conversation: Conversation, report: Path) -> list[str]:
    flow = conversation.flow
    command = [
        program("iperf3"),
        *("--client", conversation.destination_address),
        *("--bind", conversation.source_address),
        *("--port", str(conversation.server_port), "--cport", str(conversation.client_port)),
        *("--json", "--logfile", str(report), "--interval", "0"),
    ]
    if flow.packets is not None:
        command += ["--blockcount", str(flow.packets), "--length", str(flow.packet_bytes)]
    else:
        command += ["--time", str(_whole_seconds(conversation))]
    if isinstance(flow, TcpFlow):
        command += ["--congestion", kernel_congestion_control(flow), "--set-mss", str(flow.mss)]
    elif isinstance(flow, UdpFlow):
        command += _udp_options(flow)
    if flow.dscp is not None:
        # Its server gives the same class to the packets of the other direction.
        command += ["--tos", str(flow.traffic_class)]
    return command


def _whole_seconds(conversation: Conversation) -> int:
    """Return the duration in whole seconds, as iperf3 takes it. The lab stops the flow at its exact
    ``stop_s``."""
    return int(conversation.stop_s - conversation.flow.start_s) + 2


def _udp_options(flow: UdpFlow) -> list[str]:
    rate_bps = 0 if flow.rate_kbps is None else round(flow.rate_kbps * 1000)
    options = ["--udp", "--bitrate", str(rate_bps)]
    if flow.packets is None:
        options += ["--length", str(flow.packet_bytes)]
    if flow.buffer_bytes is not None:
        options += ["--window", str(flow.buffer_bytes)]
    if rate_bps:
        # iperf3 wakes at this tick, and sends if it is behind its rate. One tick a packet spaces
        # packets evenly. Its default of 1 ms sends bursts or wakes needlessly.
        interval_us = flow.packet_bytes * 8e6 / rate_bps
        options += ["--pacing-timer", str(max(1, round(interval_us)))]
    return options


def fault(side: Side, status: int) -> str | None:
    """Return the error of a side that ended by itself with ``status``. None for echoes that are
    done, or packets that iperf3 counted. Every other program stays until the lab stops it."""
    conversation = side.conversation
    if conversation.is_iperf3 and (error := _iperf3_error(side.report)) is not None:
        return error
    ends = conversation.is_iperf3 or conversation.flow.is_exchange
    if status == 0 and conversation.flow.packets is not None and ends:
        return None
    said = last_line(side.log)
    return f"ended with status {status}: {said}"


def is_networks_doing(fault: str) -> bool:
    """Return whether a program ended because its peer did not answer. This is a result, and no
    failure of the lab."""
    return any(os.strerror(code) in fault for code in NOBODY_ANSWERS)


def _iperf3_error(report: Path) -> str | None:
    error = (reading.value(report) or {}).get("error")
    return None if error is None else str(error)
