# SPDX-License-Identifier: Apache-2.0
"""A guest in real time sleeps until its terminal has something for it: all of it is read."""

import os
import random
import select
import time
from collections.abc import Callable, Iterator

import pexpect
import pytest

from tests.emulation.conftest import HOPLAB

pytestmark = pytest.mark.chance

PAIRS = 6000
"""A kernel that loses wake-ups stands still within a few thousand."""
LONGEST_GAP_S = 0.004
TOGETHER = 0.1
"""Share of the pairs whose keys follow each other at once."""
STILL_S = 100.0
"""A program that says nothing for so long has stood still: an answer takes a millisecond."""
AT_ONCE = 20_000
"""Octets: several times what a terminal holds for its reader."""

Raw = Callable[[str], int]


@pytest.fixture
def raw() -> Iterator[Raw]:
    """Starts a shell's commands at a terminal in raw mode that says READY; its descriptor."""
    started: list[pexpect.spawn] = []

    def start(commands: str) -> int:
        script = f"stty raw -echo; echo READY; {commands}"
        words = ["exec", "--realtime", "--", "sh", "-c", script]
        child = pexpect.spawn(str(HOPLAB), words, timeout=250)
        started.append(child)
        child.expect("READY\r?\n")
        return int(child.child_fd)

    yield start
    for child in started:
        child.close(force=True)


def echoed(descriptor: int, octets: int) -> bytes:
    """So many octets from there, fewer where it stands still."""
    came = b""
    while len(came) < octets:
        readable, _, _ = select.select([descriptor], [], [], STILL_S)
        if not readable:
            break
        came += os.read(descriptor, octets - len(came))
    return came


def test_no_key_is_lost(raw: Raw) -> None:
    """The second of two keys comes while the first is read, or just as the guest falls asleep."""
    terminal, gaps = raw("exec cat"), random.Random(5)
    for pair in range(PAIRS):
        os.write(terminal, b"a")
        gap_s = 0.0 if gaps.random() < TOGETHER else gaps.random() * LONGEST_GAP_S
        until = time.perf_counter() + gap_s
        while time.perf_counter() < until:
            pass  # a sleep would be too coarse
        os.write(terminal, b"b")
        assert echoed(terminal, 2) == b"ab", f"pair {pair}"


def test_what_a_slow_reader_leaves_is_kept_for_it(raw: Raw) -> None:
    terminal = raw("sleep 1; exec cat")
    text = bytes(ord("a") + i % 26 for i in range(AT_ONCE))
    left = memoryview(text)
    while left:  # what the host's terminal takes at once
        left = left[os.write(terminal, left) :]
    assert echoed(terminal, len(text)) == text
    os.write(terminal, b"later")
    assert echoed(terminal, 5) == b"later"
