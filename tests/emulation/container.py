# SPDX-License-Identifier: Apache-2.0
"""``python container.py COMMAND…``: run a command under what an unprivileged container refuses.

The system calls are those that Docker's, Podman's and containerd's default profile denies to a
container without capabilities: namespaces, mounts, modules, BPF, other personalities. What such a
profile answers is EPERM, and ENOSYS to clone3, so that the C library takes clone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

LOAD, JUMP_EQUAL, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
"""Classic BPF: a word of seccomp_data, compare with it, test its bits, end with a constant."""
NUMBER, FIRST_ARGUMENT = 0, 16
"""Offsets in struct seccomp_data (linux/seccomp.h)."""
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2

DENIED = {
    "acct": 163,
    "add_key": 248,
    "bpf": 321,
    "chroot": 161,
    "delete_module": 176,
    "finit_module": 313,
    "fsopen": 430,
    "init_module": 175,
    "kcmp": 312,
    "kexec_load": 246,
    "keyctl": 250,
    "mbind": 237,
    "mount": 165,
    "move_mount": 429,
    "open_by_handle_at": 304,
    "open_tree": 428,
    "perf_event_open": 298,
    "pivot_root": 155,
    "quotactl": 179,
    "reboot": 169,
    "request_key": 249,
    "set_mempolicy": 238,
    "setns": 308,
    "swapon": 167,
    "syslog": 103,
    "umount2": 166,
    "unshare": 272,
    "userfaultfd": 323,
}
"""Numbers of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl)."""
CLONE, CLONE3, PERSONALITY = 56, 435, 135
NEW_NAMESPACES = 0x7E020000
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)


def program() -> list[tuple[int, int, int, int]]:
    """The filter: operation, jump if true, jump if false, constant."""
    refuse, allow = (RETURN, 0, 0, ERRNO | errno.EPERM), (RETURN, 0, 0, ALLOW)
    lines = [(LOAD, 0, 0, NUMBER)]
    for number in DENIED.values():
        lines += [(JUMP_EQUAL, 0, 1, number), refuse]
    lines += [(JUMP_EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    lines += [(JUMP_EQUAL, 0, 4, CLONE), (LOAD, 0, 0, FIRST_ARGUMENT)]
    lines += [(JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES), refuse, allow]
    lines += [(JUMP_EQUAL, 1, 0, PERSONALITY), allow, (LOAD, 0, 0, FIRST_ARGUMENT)]
    for value in PERSONALITIES:
        lines += [(JUMP_EQUAL, 0, 1, value), allow]
    return [*lines, refuse]


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def denying(calls: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """A filter that answers these calls, by number, with these errors, and allows all others."""
    lines = [(LOAD, 0, 0, NUMBER)]
    for number, error in calls.items():
        lines += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | error)]
    return [*lines, (RETURN, 0, 0, ALLOW)]


def confine(lines: list[tuple[int, int, int, int]]) -> None:
    """From here on, for this process and all that it starts."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = Program(len(lines), ctypes.cast(code, ctypes.c_void_p).value)
    for call in ((SET_NO_NEW_PRIVS, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.byref(wanted))):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    confine(program())
    os.execvp(sys.argv[1], sys.argv[1:])
