# SPDX-License-Identifier: Apache-2.0
"""The limits of TCP's buffers by a guest's memory."""

import pytest

from hoplab.guest.network import buffers


@pytest.mark.parametrize(
    ("memory_mb", "octets"), [(384, 2_817_824), (448, 3_332_448), (512, 3_847_264)]
)
def test_they_are_those_of_one_kernel(memory_mb: int, octets: int) -> None:
    """From guests with so much memory and the kernel of that size: net.ipv4.tcp_wmem."""
    assert buffers.limit(memory_mb) == octets


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("mem=384M rootfstype=ramfs time-travel=inf-cpu", True),
        ("mem=384M rootfstype=ramfs", False),
        ("quiet", False),
    ],
)
def test_a_host_and_real_time_keep_their_own(
    line: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers.Path, "read_text", lambda *_, **__: line)
    assert bool(buffers.sysctls()) == known
