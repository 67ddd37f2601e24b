# SPDX-License-Identifier: Apache-2.0
"""A packet socket whose kernel ring is emptied when it suits the run (packet_mmap.rst, TPACKET_V2).

A capture must not change what it captures. A capturing program is woken, reads clocks and takes
from the kernel's entropy when it starts. So does a ring with a timer. In virtual time each of these
shifts everything after it. Here the kernel writes packets into shared memory, which goes to a file
unchanged. `hoplab.host.results.rings` reads that file after the run.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

from hoplab.guest.network.inside import inside
from hoplab.model import writing
from hoplab.model.errors import HoplabError

SOL_PACKET = 263
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 5, 6, 10
TPACKET_V2 = 1
SO_ATTACH_FILTER = 26
ETH_P_ALL = 3
REQUEST = struct.Struct("=4I")
"""struct tpacket_req: size and number of blocks, size and number of slots. A slot holds a
packet."""
RING_BYTES, BLOCK_BYTES = 1 << 23, 1 << 17
STATUS = struct.Struct("=I")
HEADER = struct.Struct("=3IH")
"""From struct tpacket2_hdr: status, length of the packet, bytes kept, offset of the first."""
KERNELS, USERS = 0, 1


class Ring:
    """Packets of one interface of a station, or of all if ``interface`` is empty. A packet is cut
    to a slot of ``slot_bytes``, a power of two, less some 90 bytes of headers."""

    def __init__(
        self,
        station: str,
        interface: str,
        path: Path,
        slot_bytes: int,
        instructions: Sequence[bytes] = (),
    ) -> None:
        """``instructions`` are a classic BPF filter; without any the ring takes everything.

        Raises `OSError`, with ENODEV for an interface that does not exist.
        """
        # A ring of all interfaces keeps the network packet, because interfaces frame theirs
        # differently.
        kind = socket.SOCK_RAW if interface else socket.SOCK_DGRAM
        # Python cannot bind to all interfaces. That socket listens from the first, and discards
        # what it received before the ring existed.
        protocol = 0 if interface else socket.htons(ETH_P_ALL)
        with inside(station):
            self._socket = socket.socket(socket.AF_PACKET, kind, protocol)
        try:
            self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
            if instructions:
                _attach(self._socket, b"".join(instructions))
            self._slot_bytes = slot_bytes
            self._slots = RING_BYTES // slot_bytes
            request = (BLOCK_BYTES, RING_BYTES // BLOCK_BYTES, slot_bytes, self._slots)
            self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, REQUEST.pack(*request))
            self._memory = mmap.mmap(self._socket.fileno(), RING_BYTES)
            self._next = 0
            if interface:
                self._socket.bind((interface, ETH_P_ALL))
            self._path = path
            self._file = writing.over(path, os.O_TRUNC)
        except BaseException:
            self._socket.close()
            raise

    def drain(self) -> None:
        """Write the packets that came since the last call."""
        came = bytearray()
        while True:
            at = self._next * self._slot_bytes
            status, _, kept, begin = HEADER.unpack_from(self._memory, at)
            if not status & USERS:
                break
            came += self._memory[at : at + begin + kept]
            STATUS.pack_into(self._memory, at, KERNELS)
            self._next = (self._next + 1) % self._slots
        left = memoryview(came)
        while left:
            left = left[os.write(self._file, left) :]

    def close(self) -> None:
        """Write the rest. Raises `HoplabError` if packets did not fit."""
        try:
            self.drain()
            statistics = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        finally:
            self._memory.close()
            self._socket.close()
            os.close(self._file)
        dropped = struct.unpack("=2I", statistics)[1]
        if dropped:
            raise HoplabError(
                f"{self._path.stem}: {dropped} packets did not fit into the ring, so the capture "
                "is not complete; lower measure.interval_s, at which it is emptied"
            )


def _attach(sock: socket.socket, program: bytes) -> None:
    """struct sock_fprog holds a pointer to the instructions, eight bytes each."""
    buffer = ctypes.create_string_buffer(program, len(program))
    descriptor = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, descriptor)
