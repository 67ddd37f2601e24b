# SPDX-License-Identifier: Apache-2.0
"""Netlink messages as they are written and read."""

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator

import pytest

from hoplab.guest.network import netlink
from hoplab.guest.network.netlink import ACK, DONE, DUMP, ERROR, HEADER, Conversation, Refused

KIND = 20


def message(kind: int, content: bytes) -> bytes:
    padding = bytes(-len(content) % 4)
    return HEADER.pack(HEADER.size + len(content), kind, 0, 0, 0) + content + padding


@contextlib.contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, *answers: bytes) -> Iterator[Conversation]:
    """A conversation with these answers to its first request."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, far, monkeypatch.context() as patch:
        for answer in answers:
            far.send(answer)
        patch.setattr(netlink, "inside", contextlib.nullcontext)
        patch.setattr(netlink.socket, "socket", lambda *_: near)
        yield Conversation("n0", 0, "the kernel")


def test_attributes_are_read_as_they_were_written() -> None:
    written = netlink.attribute(3, b"wlan0\0") + netlink.attribute(0x8000 | 4, struct.pack("=I", 7))
    assert len(written) % 4 == 0
    read = [(kind, bytes(value)) for kind, value in netlink.attributes(memoryview(written))]
    assert read == [(3, b"wlan0\0"), (4, b"\7\0\0\0")]


@pytest.mark.parametrize("cut", range(20))
def test_what_is_cut_short_ends_without_an_error(cut: int) -> None:
    data = memoryview(message(KIND, netlink.attribute(3, b"wlan0\0")))[:cut]
    for _, content in netlink.messages(data):
        list(netlink.attributes(content))
    list(netlink.attributes(data))


def test_a_request_has_one_answer_all_answers_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, last = message(KIND, b"1"), message(KIND, b"22"), message(DONE, bytes(4))
    done = message(ERROR, bytes(4))
    for flags, answers, expected in (
        (0, [one], [b"1"]),
        (DUMP, [one + other, other, last], [b"1", b"22", b"22"]),
        (ACK, [done], []),
    ):
        with answering(monkeypatch, *answers) as asked:
            assert [bytes(each) for each in asked.ask(1, b"", flags)] == expected


def test_a_refusal_says_what_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"the kernel: .*{os.strerror(errno.EPERM)}"
    with (
        answering(monkeypatch, message(ERROR, struct.pack("=i", -errno.EPERM))) as asked,
        pytest.raises(Refused, match=said) as refused,
    ):
        list(asked.ask(1, b"", ACK))
    assert refused.value.errno == errno.EPERM
