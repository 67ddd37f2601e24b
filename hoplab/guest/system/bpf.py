# SPDX-License-Identifier: Apache-2.0
"""Small BPF programs of a control group: instructions, loading, and the map of one value.

The names of instructions follow linux/bpf.h. Programs are so short that a compiler would be more to
install than to read.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from pathlib import Path

from hoplab.model.errors import MissingTool

SYS_BPF = {"x86_64": 321, "aarch64": 280}
MAP_CREATE, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, PROG_LOAD, PROG_ATTACH = 0, 1, 2, 5, 8
MAP_TYPE_ARRAY = 2
ALLOW_MULTI = 2
HELPER_MAP_LOOKUP_ELEM = 1
WORD = 4
CGROUP_ROOT = Path("/sys/fs/cgroup")


def own_folder() -> Path:
    """Return the folder of this process's group, which exists once the group is made."""
    return CGROUP_ROOT / f"hoplab-{os.getpid()}"


def came_from() -> Path:
    """Return the folder of the group in which this process is."""
    own = Path("/proc/self/cgroup").read_text(encoding="ascii").strip().rpartition("::")[2]
    return CGROUP_ROOT / own.lstrip("/")


def enter(group: Path) -> None:
    """Move this process, and its later children, to the group."""
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def require_groups(what: str) -> None:
    """Raise `MissingTool` if there are no control groups, which ``what`` needs."""
    if not (CGROUP_ROOT / "cgroup.procs").exists():
        raise MissingTool(
            f"{CGROUP_ROOT}: no control groups (version 2), which {what} need; "
            "mount them with 'mount -t cgroup2 none /sys/fs/cgroup'"
        )


def instruction(code: int, dst: int = 0, src: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """Return a BPF instruction (`struct bpf_insn`)."""
    return struct.pack("<BBhi", code, src << 4 | dst, offset, value)


def load_word(dst: int, src: int, offset: int) -> bytes:
    """``dst = *(u32 *)(src + offset)``."""
    return instruction(0x61, dst, src, offset)


def load_double_word(dst: int, src: int, offset: int) -> bytes:
    """``dst = *(u64 *)(src + offset)``."""
    return instruction(0x79, dst, src, offset)


def put(register: int, value: int) -> bytes:
    """``register = value``."""
    return instruction(0xB7, register, value=value)


def copy(dst: int, src: int) -> bytes:
    """``dst = src``."""
    return instruction(0xBF, dst, src)


def skip_unless_equal(register: int, value: int, skipped: bytes) -> bytes:
    """Skip the instructions ``skipped`` unless ``register == value``."""
    return instruction(0x55, register, offset=len(skipped) // 8, value=value)


def skip_if_equal(register: int, value: int, skipped: bytes) -> bytes:
    """Skip the instructions ``skipped`` if ``register == value``."""
    return instruction(0x15, register, offset=len(skipped) // 8, value=value)


def skip_unless_wide(register: int, value: int, skipped: bytes) -> bytes:
    """Skip the instructions ``skipped`` unless ``register`` is ``value``, which has 64 bits. Uses
    ``r1``."""
    low, high = struct.unpack("<ii", struct.pack("<Q", value))
    wide = instruction(0x18, 1, value=low) + instruction(0, value=high)
    return wide + instruction(0x5D, register, 1, offset=len(skipped) // 8)


def call(helper: int) -> bytes:
    """Call a helper of the kernel."""
    return instruction(0x85, value=helper)


def only_value(map_descriptor: int) -> bytes:
    """``r0`` = address of the map's only value, or 0. Uses the stack's last 8 octets."""
    return b"".join(
        (
            instruction(0x62, 10, offset=-8, value=0),  # the map's only key
            # The address of the map, in two instructions (BPF_PSEUDO_MAP_FD).
            instruction(0x18, 1, 1, value=map_descriptor),
            instruction(0),
            copy(2, 10),
            instruction(0x07, 2, value=-8),
            call(HELPER_MAP_LOOKUP_ELEM),
        )
    )


def made_map(value_octets: int) -> int:
    """Return the descriptor of a map with one value, which begins as zeros."""
    return bpf(MAP_CREATE, struct.pack("<IIIII", MAP_TYPE_ARRAY, WORD, value_octets, 1, 0))


def _at_map(command: int, map_descriptor: int, value: ctypes.Array[ctypes.c_char]) -> None:
    key = ctypes.create_string_buffer(bytes(WORD), WORD)
    ends = ctypes.addressof(key), ctypes.addressof(value)
    bpf(command, struct.pack("<IIQQQ", map_descriptor, 0, *ends, 0))


def write_map(map_descriptor: int, value: bytes) -> None:
    """Write the value of a map with one."""
    _at_map(MAP_UPDATE_ELEM, map_descriptor, ctypes.create_string_buffer(value, len(value)))


def read_map(map_descriptor: int, octets: int) -> bytes:
    """Read the value of a map with one."""
    value = ctypes.create_string_buffer(octets)
    _at_map(MAP_LOOKUP_ELEM, map_descriptor, value)
    return value.raw


def bpf(command: int, attributes: bytes) -> int:
    """`bpf(2)`. Raises `MissingTool` where the kernel refuses."""
    number = SYS_BPF.get(platform.machine())
    if number is None:
        raise MissingTool(f"bpf: the number of this call on {platform.machine()} is not known")
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result: int = libc.syscall(number, command, buffer, len(attributes))
    if result < 0:
        raise MissingTool(
            f"bpf: {os.strerror(ctypes.get_errno())}; windows of flows and counts of a routing "
            "daemon's packets need a kernel with CONFIG_CGROUP_BPF, and root"
        )
    return result


def loaded(program: bytes, kind: int) -> int:
    """Return the descriptor of a program of a kind (BPF_PROG_TYPE_…), loaded into the kernel."""
    code = ctypes.create_string_buffer(program, len(program))
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    return bpf(
        PROG_LOAD,
        struct.pack(
            "<IIQQ", kind, len(program) // 8, ctypes.addressof(code), ctypes.addressof(licence)
        ),
    )


def attach(folder: Path, program: bytes, kind: int, point: int) -> None:
    """Make the kernel call ``program``, of a kind (BPF_PROG_TYPE_…), at a point (BPF_CGROUP_…) of
    the group in ``folder``."""
    descriptor = loaded(program, kind)
    group = os.open(folder, os.O_RDONLY)
    try:
        bpf(PROG_ATTACH, struct.pack("<IIII", group, descriptor, point, ALLOW_MULTI))
    finally:
        os.close(group)
        os.close(descriptor)
