# SPDX-License-Identifier: Apache-2.0
"""A run's flows: their programs at both ends, `hoplab-traffic` or iperf3."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system.processes import Child, beside, ends_within, last_line, program
from hoplab.guest.traffic.ends import Ends
from hoplab.model import reading, writing
from hoplab.model.keys.declare import MAX_DURATION_S
from hoplab.model.keys.resolved import TcpFlow, UdpFlow
from hoplab.model.keys.variants import kernel_congestion_control
from hoplab.model.network.plan import Conversation

NOBODY_ANSWERS = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EAGAIN)
"""The last of these ends iperf3's wait of 30 s for the answer to its first datagram, which it sends
once."""
WRITERS = {"udp": ("server",), "ping": ("client",), "rr": ("client",), "call": ("client", "server")}
"""By a flow's protocol, the ends that write rows."""
END_S = 5.0
"""Seconds that a program has to write the rest of its output."""


@dataclass(frozen=True)
class Side:
    """The program at one end of a flow."""

    conversation: Conversation
    role: str
    """``client``, at the flow's source, or ``server``."""
    process: Child
    report: Path | None
    """The final report of iperf3; `hoplab-traffic` writes none."""
    log: Path

    def stop(self) -> None:
        """End the program if it still runs."""
        if self.process.poll() is None:
            if self._has_last_rows:
                self.process.terminate()
                ends_within(self.process.pid, END_S)
            self.process.kill()
            self.process.wait()

    @property
    def _has_last_rows(self) -> bool:
        """Whether it writes rows when it is asked to end: of what has not been answered, or of the
        datagrams since its last row."""
        writers = WRITERS.get(self.conversation.flow.protocol, ())
        return not self.conversation.is_iperf3 and self.role in writers


def _iperf3_report(conversation: Conversation, out: Path, role: str) -> Path:
    """Return the file of a side's final report. Make it, so that iperf3 waits for no pipe that a
    program put there. Raises `OSError` if it cannot be made."""
    report = out / "raw" / f"iperf3-{conversation.name}-{role}.json"
    writing.new(report).close()
    return report


def start_server(conversation: Conversation, namespaces: Namespaces, ends: Ends) -> Side:
    """Start the program to which the flow's client will send."""
    return _started(conversation, "server", namespaces, ends)


def start_client(conversation: Conversation, namespaces: Namespaces, ends: Ends) -> Side:
    """Begin to send."""
    return _started(conversation, "client", namespaces, ends)


def _started(conversation: Conversation, role: str, namespaces: Namespaces, ends: Ends) -> Side:
    flow, is_server = conversation.flow, role == "server"
    report = None
    if conversation.is_iperf3:
        report = _iperf3_report(conversation, ends.out, role)
        options = _iperf3_server(conversation) if is_server else _iperf3_client(conversation)
        command = [program("iperf3"), *options, "--json", "--logfile", str(report)]
    else:
        command = ends.server(conversation) if is_server else ends.client(conversation)
    log = ends.out / "logs" / f"flow-{conversation.name}-{role}.log"
    station = flow.destination if is_server else flow.source
    process: Child
    if conversation.is_iperf3:
        process = namespaces.spawn(station, command, log, env={**os.environ, **beside(command)})
    else:
        process = namespaces.serve(station, command, log, ends.home == "kernel")
    return Side(conversation, role, process, report, log)


def _iperf3_server(conversation: Conversation) -> list[str]:
    return [
        *("--server", "--one-off", "--port", str(conversation.server_port)),
        *("--bind", conversation.destination_address),
        # Otherwise it keeps a report of every second in memory. It also ends a test in which
        # nothing came for two minutes, as happens with moving stations.
        *("--interval", "0", "--rcv-timeout", str(MAX_DURATION_S * 1000)),
    ]


def _iperf3_client(conversation: Conversation) -> list[str]:
    flow = conversation.flow
    command = [
        *("--client", conversation.destination_address),
        *("--bind", conversation.source_address),
        *("--port", str(conversation.server_port), "--cport", str(conversation.client_port)),
        *("--interval", "0"),
    ]
    if flow.packets is not None:
        command += ["--blockcount", str(flow.packets), "--length", str(flow.packet_bytes)]
    else:
        command += ["--time", str(_whole_seconds(conversation))]
    if isinstance(flow, TcpFlow):
        name = kernel_congestion_control(flow.congestion_control)
        command += ["--congestion", name, "--set-mss", str(flow.mss)]
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
    if side.report is not None and (error := _iperf3_error(side.report)) is not None:
        return error
    ends = conversation.is_iperf3 or conversation.flow.protocol == "ping"
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
