# SPDX-License-Identifier: Apache-2.0
"""Restrict a process for good. It can write only to the given folders. It can read elsewhere only
if no list of readable files is given.

A guest's kernel is a process of its user. Root in the guest can mount any file of the host that
this user may touch. Landlock (Linux 6.2 and newer) or else a user and mount namespace removes the
right to write. Both need no privileges. The launcher has only the standard library, and each module
of that delays a guest. It alone may call `apply`, which binds the whole process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LANDLOCK = "landlock"
NAMESPACE = "namespace"
NONE = "none"

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
FIRST_ABI = 3
"""Before this version (Linux 6.2) a user's file could still be truncated."""
SCOPES_ABI = 6
# include/uapi/linux/landlock.h: WRITE_FILE, REMOVE_DIR to MAKE_SYM, REFER, TRUNCATE.
WRITE = 1 << 1 | sum(1 << bit for bit in range(4, 15))
READ = 1 << 0 | 1 << 2 | 1 << 3
"""EXECUTE, READ_FILE and READ_DIR."""
TO_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14
"""Rights of both sets that apply to a file."""
DEVICES = 1 << 6 | 1 << 11
"""MAKE_CHAR and MAKE_BLOCK, which are never granted."""
BIND_AND_CONNECT_TCP = 1 << 0 | 1 << 1
ABSTRACT_SOCKETS_AND_SIGNALS = 1 << 0 | 1 << 1

# include/uapi/linux/seccomp.h, audit.h; io_uring can make sockets itself.
SECCOMP, SOCKET, IO_URING_SETUP = 317, 41, 425
SECCOMP_SET_MODE_FILTER, SECCOMP_SPEC_ALLOW = 1, 1 << 2
SECCOMP_ERRNO, SECCOMP_ALLOW = 0x0005_0000, 0x7FFF_0000
AUDIT_ARCH_X86_64 = 0xC000_003E
X32_CALLS = 0x4000_0000
"""First number of system calls of the x32 interface."""

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_SETATTR, PIVOT_ROOT = 442, 155
MNT_DETACH = 2
SCAFFOLD = "/dev"
"""Every host has this folder. A guest never gets anything in it but files and folders."""
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NODEV = 1 << 0, 1 << 2
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
FILE_CAPABILITIES = range(5)
"""CAP_CHOWN to CAP_FSETID: the only capabilities of root that a guest's files need."""
LAST_CAPABILITY = 63
DEVICE = "/dev/null"
"""The device that the guest's kernel opens for an unused console."""


def apply(mode: str, writable: Sequence[str], readable: Sequence[str] | None = None) -> None:
    """Bind this process and its children. Raises OSError if ``mode`` is not available.

    With ``readable`` they can read and execute only these paths and those that they may write.
    """
    if mode == LANDLOCK:
        _landlock(writable, readable)
    elif mode == NAMESPACE:
        _namespace(writable, readable)
    if mode != NONE:
        _no_network()


def available() -> str:
    """Return the strongest mode that this process may use. The function tries modes, and so binds
    the process."""
    for mode in (LANDLOCK, NAMESPACE):
        try:
            apply(mode, [], [])
        except OSError:
            continue
        return mode
    return NONE


def _landlock(writable: Sequence[str], readable: Sequence[str] | None) -> None:
    made = rules(writable, readable)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _syscall(LANDLOCK_RESTRICT_SELF, made, 0)
    os.close(made)


def rules(writable: Sequence[str], readable: Sequence[str] | None) -> int:
    """Return a descriptor of Landlock's rules for `apply`, for the process that takes them on."""
    abi = _syscall(LANDLOCK_CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    if abi < FIRST_ABI:
        raise OSError(0, f"Landlock is of version {abi}, {FIRST_ABI} is needed")
    read = 0 if readable is None else READ
    attributes = struct.pack(
        "QQQ", WRITE | read, BIND_AND_CONNECT_TCP, ABSTRACT_SOCKETS_AND_SIGNALS
    )
    size = 24 if abi >= SCOPES_ABI else 16 if abi >= 4 else 8
    made = _syscall(LANDLOCK_CREATE_RULESET, attributes, size, 0)
    rights = dict.fromkeys(readable or (), read)
    rights |= dict.fromkeys([*writable, DEVICE], WRITE & ~DEVICES | read)
    for path, wanted in rights.items():
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = wanted if stat.S_ISDIR(os.fstat(place).st_mode) else wanted & TO_FILES
        beneath = struct.pack("=Qi", allowed, place)
        _syscall(LANDLOCK_ADD_RULE, made, RULE_PATH_BENEATH, beneath, 0)
        os.close(place)
    return made


def _namespace(writable: Sequence[str], readable: Sequence[str] | None) -> None:
    import contextlib
    from pathlib import Path

    user, group, here = os.getuid(), os.getgid(), Path.cwd()
    if user == 0:
        _call("unshare", CLONE_NEWNS)
    else:
        _call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny", encoding="ascii")
        (own / "uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        (own / "gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    if readable is not None:
        _keep_alone([*readable, *writable, str(here), f"/proc/{os.getpid()}", DEVICE])
    for path in map(os.fsencode, [*writable, DEVICE]):
        _call("mount", path, path, None, MS_BIND | MS_REC, None)
    # A read-only mount still allows writing to devices.
    _mount_attributes(b"/", ATTR_RDONLY | ATTR_NODEV, 0)
    for path in map(os.fsencode, writable):
        # This fails if the mount was read-only before, when nobody expects to write there.
        with contextlib.suppress(PermissionError):
            _mount_attributes(path, 0, ATTR_RDONLY)
    _mount_attributes(os.fsencode(DEVICE), 0, ATTR_RDONLY | ATTR_NODEV)
    os.chdir(here)  # into the new mount of it
    if user == 0:
        for capability in set(range(LAST_CAPABILITY + 1)) - set(FILE_CAPABILITIES):
            with contextlib.suppress(OSError):  # beyond the last one of this kernel
                _prctl(PR_CAPBSET_DROP, capability)
    # The next exec ends an ordinary user's capabilities in the namespace.
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _keep_alone(paths: Sequence[str]) -> None:
    """Make a root of only these paths, over a folder that is not among them.

    Its /proc shows only this process. Through other processes of the user the kernel would show the
    whole root.
    """
    import contextlib
    from pathlib import Path

    kept = {path: os.open(path, os.O_PATH) for path in sorted({*paths}, key=len)}
    root = os.fsencode(SCAFFOLD)
    _call("mount", b"none", root, b"tmpfs", 0, None)
    for path, place in kept.items():
        target = Path(f"{SCAFFOLD}{path}")
        if stat.S_ISDIR(os.fstat(place).st_mode):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                target.touch(exist_ok=False)
        source = f"/proc/self/fd/{place}".encode()
        _call("mount", source, os.fsencode(target), None, MS_BIND | MS_REC, None)
    Path(f"{SCAFFOLD}/proc/self").symlink_to(str(os.getpid()))
    _syscall(PIVOT_ROOT, root, root)
    # The old root lies over the new one, at the same place.
    _call("umount2", b"/", MNT_DETACH)
    os.chdir("/")
    for place in kept.values():
        os.close(place)


def _no_network() -> None:
    """Allow no new socket of any kind, since Landlock knows only TCP. The guest's own
    processes are not affected: ptrace intercepts their system calls before this filter does."""
    word = struct.Struct("=HBBI").pack
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    refused, allowed = SECCOMP_ERRNO | errno.EACCES, SECCOMP_ALLOW
    program = b"".join(
        [
            word(load, 0, 0, 4),  # the architecture
            word(equal, 0, 5, AUDIT_ARCH_X86_64),
            word(load, 0, 0, 0),  # the call's number
            word(at_least, 3, 0, X32_CALLS),
            word(equal, 2, 0, IO_URING_SETUP),
            word(equal, 1, 0, SOCKET),
            word(answer, 0, 0, allowed),
            word(answer, 0, 0, refused),
        ]
    )
    buffer = ctypes.create_string_buffer(program, len(program))
    filters = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    _syscall(SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_SPEC_ALLOW, filters)


def _mount_attributes(path: bytes, added: int, removed: int) -> None:
    attributes = struct.pack("QQQQ", added, removed, 0, 0)
    _syscall(MOUNT_SETATTR, AT_FDCWD, path, AT_RECURSIVE, attributes, len(attributes))


def _prctl(option: int, value: int) -> None:
    _call("prctl", option, value, 0, 0, 0)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    return _call("syscall", number, *arguments)


def _call(name: str, *arguments: int | bytes | None) -> int:
    """Call a function of the C library. Raises OSError with its errno."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    wide = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    answer: int = function(*wide)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return answer
