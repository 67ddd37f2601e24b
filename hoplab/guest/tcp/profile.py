# SPDX-License-Identifier: Apache-2.0
"""The effect of the scenario's `[tcp]` in today's kernel; the classic profile."""

from __future__ import annotations

from hoplab.guest.tcp.sack import SYSCTL as SACK
from hoplab.model.keys.scenario import Tcp

CLASSIC = {
    "net.ipv4.tcp_recovery": "0",  # RACK (RFC 8985) came in 2021
    "net.ipv4.tcp_early_retrans": "0",  # tail loss probe and early retransmit
    "net.ipv4.tcp_frto": "0",  # RFC 5682, 2009
    "net.ipv4.tcp_ecn": "0",
    "net.ipv4.tcp_timestamps": "0",
    "net.ipv4.tcp_window_scaling": "0",
    "net.ipv4.tcp_dsack": "0",
    "net.ipv4.tcp_fack": "0",
    "net.ipv4.tcp_moderate_rcvbuf": "0",  # the window is what the scenario says
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_thin_linear_timeouts": "0",
    "net.ipv4.tcp_autocorking": "0",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_fastopen": "0",
    "net.ipv4.tcp_limit_output_bytes": "1048576",
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_max_reordering": "3",
}

RACK_ALONE = 7, 2
"""First kernel whose SACK has no loss detection but RACK (RFC 8985), whatever tcp_recovery says."""
MIN_RTO = "net.ipv4.tcp_rto_min_us"
CLASSIC_INITIAL_WINDOW = 1
LARGEST_UNSCALED_WINDOW = 65_535
BUFFER_OVERHEAD = 4
"""Buffer bytes for a byte of window. Half is kept for overhead, and small packets cost more."""


def sysctls(
    tcp: Tcp,
    sack: bool,
    window_bytes: int = 0,
    splits: bool = False,
    accurate_ecn: bool = False,
) -> dict[str, str]:
    """Settings of one station.

    ``sack`` says whether it permits selective acknowledgements. ``window_bytes`` is the largest
    window that one of its flows needs. ``splits`` says whether it sends split flows.
    ``accurate_ecn`` says whether a flow needs the feedback of RFC 9768.
    """
    values = {SACK: "1" if sack else "0"}
    if tcp.profile == "classic":
        values.update(CLASSIC)
        if window_bytes > LARGEST_UNSCALED_WINDOW:
            # Simulators have no 16-bit window field. On a wire such a window needs scaling (RFC
            # 7323). The receiver's buffer must hold it with the kernel's overhead.
            buffer = BUFFER_OVERHEAD * window_bytes
            values["net.ipv4.tcp_window_scaling"] = "1"
            values["net.ipv4.tcp_rmem"] = f"4096 {buffer} {max(buffer, 6 << 20)}"
    if splits:
        # A proxy's copy bears the time at which TCP first sent it. Once a later segment has come,
        # the destination discards the copy as an old duplicate (PAWS, RFC 7323 section 5).
        values["net.ipv4.tcp_timestamps"] = "0"
    if tcp.ecn is not None:
        values["net.ipv4.tcp_ecn"] = "1" if tcp.ecn else "0"
    if accurate_ecn:
        # Asked for where a station's own flows have ECN, and answered in any case.
        values["net.ipv4.tcp_ecn"] = "3" if tcp.ecn else "5"
    if tcp.min_rto_ms is not None:
        values[MIN_RTO] = str(tcp.min_rto_ms * 1000)
    return values


def doubt(tcp: Tcp, sacked: list[str], release: str) -> str | None:
    """Return a warning if a kernel ignores the classic profile for flows with SACK, by their names.
    ``release`` is the kernel's, as uname(2) has it."""
    first, second = release.split(".")[:2]
    if tcp.profile != "classic" or not sacked or (int(first), int(second)) < RACK_ALONE:
        return None
    return (
        f'tcp.profile: "classic", but kernel {release} detects losses by RACK wherever SACK is on '
        f"(flow {', '.join(sacked)}); take the default kernel for it, or a variant without SACK"
    )


def initial_window(tcp: Tcp) -> int | None:
    """Initial congestion window in segments; None leaves the kernel's (10)."""
    if tcp.initial_window is None and tcp.profile == "classic":
        return CLASSIC_INITIAL_WINDOW
    return tcp.initial_window
