# SPDX-License-Identifier: Apache-2.0
"""Read the kernel's own view of a TCP connection through sock_diag (linux/inet_diag.h)."""

from __future__ import annotations

import platform
from typing import Any

from pyroute2 import DiagSocket
from pyroute2.netlink.diag import inet_diag_msg

from hoplab.network.namespaces import inside

if tuple(int(part) for part in platform.release().split(".")[:2]) >= (6, 7):
    # struct tcp_info grew by these in 6.7 (linux/tcp.h); pyroute2 knows it up to 5.x.
    inet_diag_msg.tcp_info.fields += (
        ("tcpi_rcv_wnd", "I"),
        ("tcpi_rehash", "I"),
        ("tcpi_total_rto", "H"),
        ("tcpi_total_rto_recoveries", "H"),
        ("tcpi_total_rto_time", "I"),
    )

AF_INET = 2
INET_DIAG_INFO = 2
INET_DIAG_VEGASINFO = 3
"""Asks for whatever the congestion control tells, in a layout of its choice."""
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
EXTENSIONS = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1)
CLOSED_OR_LISTENING = (1 << 7) | (1 << 10)
CONNECTED_STATES = 0xFFF & ~CLOSED_OR_LISTENING


class SocketProbe:
    """A sock_diag socket inside one station's namespace."""

    def __init__(self, station: str) -> None:
        with inside(station):
            self._diag = DiagSocket()
            self._diag.bind()

    def connections(self) -> dict[tuple[int, int], dict[str, Any]]:
        """tcp_info of every connection, by (local port, remote port)."""
        found = {}
        for message in self._diag.get_sock_stats(
            family=AF_INET, states=CONNECTED_STATES, extensions=EXTENSIONS
        ):
            info = message.get_attr("INET_DIAG_INFO")
            if info is not None:
                info["estimate_kbps"] = _estimate_kbps(message)
                found[message["idiag_sport"], message["idiag_dport"]] = info
        return found

    def close(self) -> None:
        self._diag.close()


def _estimate_kbps(message: Any) -> float | None:
    """The congestion control's own estimate of the path's rate: BBR's and tcpw's tell one."""
    told = message.get_attr("INET_DIAG_BBRINFO")
    if told is None:
        return None
    bytes_per_s = int(told["bbr_bw_hi"]) << 32 | int(told["bbr_bw_lo"])
    return round(bytes_per_s * 8e-3, 3)


def sender_row(info: dict[str, Any]) -> dict[str, Any]:
    """The columns that the sending socket tells (table `tcp`)."""
    return {
        "acked_bytes": info["tcpi_bytes_acked"],
        "cwnd": info["tcpi_snd_cwnd"],
        # The kernel's "infinite" start value means that no loss has set ssthresh yet.
        "ssthresh": None if info["tcpi_snd_ssthresh"] >= 0x7FFFFFFF else info["tcpi_snd_ssthresh"],
        "rtt_ms": info["tcpi_rtt"] / 1000,
        "rttvar_ms": info["tcpi_rttvar"] / 1000,
        "min_rtt_ms": info["tcpi_min_rtt"] / 1000,
        "rto_ms": info["tcpi_rto"] / 1000,
        "backoff": info["tcpi_backoff"],
        "ca_state": CA_STATES[min(info["tcpi_ca_state"], 4)],
        "retransmits": info["tcpi_total_retrans"],
        "timeouts": info.get("tcpi_total_rto"),
        "in_flight": info["tcpi_unacked"],
        "lost": info["tcpi_lost"],
        "estimate_kbps": info["estimate_kbps"],
    }
