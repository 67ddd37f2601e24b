# SPDX-License-Identifier: Apache-2.0
"""Frames for single radios, so that the thousand stations of a large ad hoc network need not all
hear each other."""

from __future__ import annotations

import os
import socket
import struct
from types import TracebackType

from hoplab.guest.network.hwsim import family
from hoplab.guest.network.netlink import (
    ACK,
    ERROR,
    GENERIC,
    GENERIC_PROTOCOL,
    HEADER,
    REQUEST,
    attribute,
    messages,
)
from hoplab.model.errors import HoplabError

CMD_REGISTER, CMD_FRAME = 1, 2
ATTR_ADDR_RECEIVER, ATTR_FRAME, ATTR_RX_RATE, ATTR_SIGNAL = 1, 3, 5, 6
"""Commands and attributes of MAC80211_HWSIM (drivers/net/wireless/virtual/mac80211_hwsim.h)."""
VERSION = 1
LARGEST_REQUEST = 16_384
SIGNAL_DBM = -30


class Introducer:
    """Hands frames to single radios, as a medium does; leaving the context ends that."""

    def __init__(self) -> None:
        self._family = family()
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, GENERIC_PROTOCOL
        )
        self._waiting: list[bytes] = []
        self._octets = 0

    def __enter__(self) -> Introducer:
        self._socket.send(self._message(CMD_REGISTER, b"", ACK))
        ((kind, content),) = messages(memoryview(self._socket.recv(LARGEST_REQUEST)))
        (code,) = struct.unpack_from("=i", content)
        if kind == ERROR and code:
            raise HoplabError(f"radios: another medium serves them ({os.strerror(-code)}); end it")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        with self._socket:
            if error is None:
                self._tell()

    def hand(self, frame: bytes, receiver: bytes) -> None:
        """Let the radio of the address ``receiver`` receive an 802.11 frame."""
        about = attribute(ATTR_ADDR_RECEIVER, receiver) + attribute(ATTR_FRAME, frame)
        about += attribute(ATTR_RX_RATE, struct.pack("=I", 0))
        about += attribute(ATTR_SIGNAL, struct.pack("=i", SIGNAL_DBM))
        message = self._message(CMD_FRAME, about, 0)
        if self._octets + len(message) > LARGEST_REQUEST:
            self._tell()
        self._waiting.append(message)
        self._octets += len(message)

    def _tell(self) -> None:
        if self._waiting:
            self._socket.send(b"".join(self._waiting))
            self._waiting.clear()
            self._octets = 0

    def _message(self, command: int, about: bytes, flags: int) -> bytes:
        body = GENERIC.pack(command, VERSION, 0) + about
        return HEADER.pack(HEADER.size + len(body), self._family, REQUEST | flags, 0, 0) + body
