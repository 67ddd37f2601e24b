# SPDX-License-Identifier: Apache-2.0
"""The limits of TCP's buffers in a guest in virtual time.

The kernel derives them from the memory that its own code leaves (net/ipv4/tcp.c, tcp_init;
mm/page_alloc.c, watermarks). A socket's window depends on them. So 600 KB more of daemons in the
kernel moved the digests of runs that had nothing to do with these daemons. A guest therefore has
the limits of a kernel of one size, by its memory alone.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

PAGES_PER_MB = 252.5
"""Pages of 4 KB, less what describes them."""
TAKEN_PAGES = 8009
"""Of kernel 6.12 with the daemons that it had at first."""
LARGEST_SEND, LARGEST_RECEIVE = 4 << 20, 6 << 20
"""Octets: what the kernel never exceeds."""
MEMORY = re.compile(r"\bmem=(\d+)M\b.*\btime-travel")


def limit(memory_mb: int) -> int:
    """Return the octets that a buffer may have in a guest with this memory."""
    managed = round(PAGES_PER_MB * memory_mb) - TAKEN_PAGES
    # The least free memory is 4 sqrt(kilobytes), and the high watermark one and a half of that.
    least = math.isqrt(managed * 4 * 16) // 4
    return (managed - least - 2 * (least // 4)) << 5


def sysctls() -> dict[str, str]:
    """Return the limits by their names; none where the clock is the host's."""
    found = MEMORY.search(Path("/proc/cmdline").read_text(encoding="utf-8"))
    if found is None:
        return {}
    most = limit(int(found[1]))
    return {
        "net.ipv4.tcp_wmem": f"4096 16384 {min(most, LARGEST_SEND)}",
        "net.ipv4.tcp_rmem": f"4096 131072 {min(most, LARGEST_RECEIVE)}",
    }
