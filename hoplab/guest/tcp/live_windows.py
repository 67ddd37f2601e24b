# SPDX-License-Identifier: Apache-2.0
"""Window limits of TCP flows that change during a run, by a BPF program on the run's sockets.

The limit is `snd_cwnd_clamp` (linux/bpf.h: TCP_BPF_SNDCWND_CLAMP), as in
`hoplab.guest.tcp.socket_settings`. It waits in a map until the program takes it. That is when the
connection is established, or at its next measured round trip (BPF_SOCK_OPS_RTT_CB). The kernel then
sets ssthresh to the limit too. A larger window shrinks with the next acknowledgement that would
increase it (`tcp_cong_avoid_ai`, `tcp_slow_start`). A smaller one opens by slow start.
"""

from __future__ import annotations

import os
import struct

from hoplab.guest.system import bpf
from hoplab.guest.system.bpf import (
    WORD,
    call,
    copy,
    instruction,
    load_word,
    put,
    skip_if_equal,
    skip_unless_equal,
)
from hoplab.guest.tcp.socket_settings import (
    ACTIVE_ESTABLISHED,
    HELPER_SETSOCKOPT,
    OFFSET_LOCAL_PORT,
    OFFSET_OP,
    SOL_TCP,
    TCP_BPF_SNDCWND_CLAMP,
    Group,
    attach_to_sockets,
    made,
)

HELPER_SOCK_OPS_CB_FLAGS_SET = 59
RTT_CALLBACK = 12
RTT_CALLBACK_FLAG = 1 << 3
"""BPF_SOCK_OPS_RTT_CB and BPF_SOCK_OPS_RTT_CB_FLAG."""
CONTEXT, STACK = 6, 10
"""Registers: where the program keeps its argument, and the frame's."""


class LiveWindow:
    """The limit of the connections from ``port``, until `close`."""

    def __init__(self, port: int, group: Group | None) -> None:
        """``group`` is the run's control group. Without one a new group is made and entered."""
        self._map = bpf.made_map(WORD)
        program = _program(port, self._map)
        self._owns = group is None
        self.group = made(program) if group is None else group
        if group is not None:
            attach_to_sockets(group.folder, program)

    def set(self, segments: int) -> None:
        """Set the limit from the next round trip on."""
        bpf.write_map(self._map, struct.pack("<I", segments))

    def close(self) -> None:
        """Leave the group if it was made here. The map disappears with its last user."""
        os.close(self._map)
        if self._owns:
            self.group.close()


def _program(port: int, map_descriptor: int) -> bytes:
    """Return the program that the kernel calls. It takes the limit that waits for this port, if
    any."""
    take = _take(map_descriptor)
    ask = b"".join(
        (
            copy(1, CONTEXT),
            put(2, RTT_CALLBACK_FLAG),
            call(HELPER_SOCK_OPS_CB_FLAGS_SET),
            put(8, RTT_CALLBACK),
        )
    )
    body = load_word(7, CONTEXT, OFFSET_LOCAL_PORT) + skip_unless_equal(7, port, take) + take
    return b"".join(
        (
            copy(CONTEXT, 1),
            load_word(8, CONTEXT, OFFSET_OP),
            skip_unless_equal(8, ACTIVE_ESTABLISHED, ask),
            ask,
            skip_unless_equal(8, RTT_CALLBACK, body),
            body,
            put(0, 1),
            instruction(0x95),
        )
    )


def _take(map_descriptor: int) -> bytes:
    """Return instructions that set, once, what waits in the map."""
    clear_and_set = b"".join(
        (
            instruction(0x63, STACK, 7, offset=-4),  # *(u32 *)(stack - 4) = r7
            instruction(0x62, 0, offset=0, value=0),  # *(u32 *)(r0 + 0) = 0
            copy(1, CONTEXT),
            put(2, SOL_TCP),
            put(3, TCP_BPF_SNDCWND_CLAMP),
            copy(4, STACK),
            instruction(0x07, 4, value=-4),
            put(5, WORD),
            call(HELPER_SETSOCKOPT),
        )
    )
    found = load_word(7, 0, 0) + skip_if_equal(7, 0, clear_and_set) + clear_and_set
    return bpf.only_value(map_descriptor) + skip_if_equal(0, 0, found) + found
