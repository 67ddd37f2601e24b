# SPDX-License-Identifier: Apache-2.0
"""Initial window and window limit of single TCP flows, by a BPF program on the run's sockets.

Linux has no socket option for either. A route's metrics do not serve, because a routing daemon
replaces routes. Since Linux 6.6 the kernel also forgets a route's receive window (RTAX_WINDOW) when
the first full segment arrives (tcp_measure_rcv_mss). The kernel calls a `sock_ops` program when a
connection is established, and the program may set both (linux/bpf.h: TCP_BPF_IW,
TCP_BPF_SNDCWND_CLAMP). The limit holds at the sender, as the `window_` of ns-2 does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hoplab.guest.system import bpf
from hoplab.guest.system.bpf import call, copy, instruction, load_word, put, skip_unless_equal

PROG_TYPE_SOCK_OPS = 13
ATTACH_SOCK_OPS = 3
HELPER_SETSOCKOPT = 49
SOL_TCP = 6
TCP_BPF_IW, TCP_BPF_SNDCWND_CLAMP = 1001, 1002
ACTIVE_ESTABLISHED = 4
OFFSET_OP, OFFSET_LOCAL_PORT = 0, 68
"""Offsets of `op` and `local_port` (host byte order) in `struct bpf_sock_ops`."""


EMPTY_LIMIT_S = 5.0
EMPTY_POLL_S = 0.01


@dataclass(frozen=True)
class SocketSettings:
    """Settings in segments of the connection from ``local_port``; None keeps the kernel's."""

    local_port: int
    initial_window: int | None
    window: int | None


@dataclass(frozen=True)
class Group:
    """A control group that holds this process. Its connections get their settings."""

    folder: Path
    came_from: Path

    def add(self, settings: Sequence[SocketSettings]) -> None:
        """Add settings of further connections."""
        program = _program(settings)
        if program is not None:
            attach_to_sockets(self.folder, program)

    def close(self) -> None:
        """Leave the group, end the processes still in it, and remove it."""
        bpf.enter(self.came_from)
        deadline = time.monotonic() + EMPTY_LIMIT_S
        while members := (self.folder / "cgroup.procs").read_text(encoding="ascii").split():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            if time.monotonic() > deadline:
                break
            time.sleep(EMPTY_POLL_S)
        self.folder.rmdir()


def enter(settings: Sequence[SocketSettings]) -> Group | None:
    """Make and enter the group, to which all later child processes belong. None if no connection
    needs a setting.

    Raises `MissingTool` if the kernel has no control groups or no BPF in them.
    """
    program = _program(settings)
    return None if program is None else made(program)


def made(program: bytes) -> Group:
    """Make and enter a group with this ``program``. Raises errors as `enter` does."""
    bpf.require_groups("windows of flows")
    group = Group(bpf.own_folder(), bpf.came_from())
    group.folder.mkdir()
    try:
        attach_to_sockets(group.folder, program)
        bpf.enter(group.folder)
    except BaseException:
        group.close()
        raise
    return group


def _set_option(option: int, value: int) -> bytes:
    """``bpf_setsockopt(context, SOL_TCP, option, &value, 4)``; the value lies on the stack."""
    return b"".join(
        (
            instruction(0x62, 10, offset=-4, value=value),
            copy(1, 6),
            put(2, SOL_TCP),
            put(3, option),
            copy(4, 10),
            instruction(0x07, 4, value=-4),
            put(5, 4),
            call(HELPER_SETSOCKOPT),
        )
    )


def _program(settings: Sequence[SocketSettings]) -> bytes | None:
    """The program's instructions; None when nothing is to be set."""
    blocks = b""
    for flow in settings:
        block = b""
        if flow.initial_window is not None:
            block += _set_option(TCP_BPF_IW, flow.initial_window)
        if flow.window is not None:
            block += _set_option(TCP_BPF_SNDCWND_CLAMP, flow.window)
        if block:
            blocks += load_word(2, 6, OFFSET_LOCAL_PORT)
            blocks += skip_unless_equal(2, flow.local_port, block) + block
    if not blocks:
        return None
    return b"".join(
        (
            copy(6, 1),
            load_word(2, 6, OFFSET_OP),
            skip_unless_equal(2, ACTIVE_ESTABLISHED, blocks),
            blocks,
            put(0, 1),
            instruction(0x95),
        )
    )


def attach_to_sockets(folder: Path, program: bytes) -> None:
    """Make the kernel call ``program`` for every TCP connection of the group in ``folder``."""
    bpf.attach(folder, program, PROG_TYPE_SOCK_OPS, ATTACH_SOCK_OPS)
