# SPDX-License-Identifier: Apache-2.0
"""Inside a guest: three namespaces in a line, connections over them, and what they send."""

from __future__ import annotations

import socket
import struct
import threading
import time
from pathlib import Path

from hoplab.guest.network.inside import inside
from hoplab.guest.network.namespaces import Namespaces

TCP_INFO, TCP_CONGESTION, SO_RCVBUFFORCE = 11, 13, 33
PATTERN = bytes(range(251)) * 300
NEAR, FAR = "10.9.1.1", "10.9.2.1"


class Unreachables:
    """Sends ICMP host unreachable to the near end."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    def send_unreachable(self, quoted: bytes) -> None:
        message = b"\3\1\0\0\0\0\0\0" + quoted
        total = sum(struct.unpack(f"!{len(message) // 2}H", message))
        total = (total & 0xFFFF) + (total >> 16)
        checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        self._socket.sendto(message[:2] + struct.pack("!H", checksum) + message[4:], (NEAR, 0))

    def close(self) -> None:
        self._socket.close()


class Wire:
    """near, middle, far in a line, 10 ms each way from middle; what middle forwards can be cut."""

    def __init__(self) -> None:
        self.namespaces = Namespaces()
        for name in ("near", "middle", "far", "other"):
            self.namespaces.create(name)
        self._link("near", NEAR, 1)
        self._link("far", FAR, 2)
        self.namespaces.sysctl("middle", {"net.ipv4.ip_forward": "1"})
        self._shape("add", 0)

    def _link(self, name: str, address: str, number: int) -> None:
        netlink = self.namespaces.netlink(name)
        peer = {"ifname": f"m{number}", "net_ns_fd": "middle"}
        netlink.link("add", ifname="w0", kind="veth", peer=peer)
        gateway = f"10.9.{number}.254"
        for where, interface, own in (("middle", f"m{number}", gateway), (name, "w0", address)):
            netlink = self.namespaces.netlink(where)
            index = self.namespaces.index(where, interface)
            netlink.addr("add", index=index, address=own, prefixlen=24)
            netlink.link("set", index=index, state="up")
        netlink.route("add", dst="default", gateway=gateway)

    def _shape(self, how: str, loss: int, duplicate: int = 0) -> None:
        netlink = self.namespaces.netlink("middle")
        for interface in ("m1", "m2"):
            index = self.namespaces.index("middle", interface)
            shape = {"delay": 10_000, "loss": loss, "duplicate": duplicate, "limit": 1000}
            netlink.tc(how, "netem", index, "1:", **shape)

    def address(self, how: str) -> None:
        """Take the near end's address away, or give it back with the route that goes with it."""
        netlink = self.namespaces.netlink("near")
        index = self.namespaces.index("near", "w0")
        netlink.addr(how, index=index, address=NEAR, prefixlen=24)
        if how == "add":
            netlink.route("add", dst="default", gateway="10.9.1.254")

    def unroute(self) -> None:
        """The middle knows of no way to the far end, and says so."""
        netlink = self.namespaces.netlink("middle")
        netlink.route("add", dst=f"{FAR}/32", type="unreachable")

    def reroute(self) -> None:
        self.namespaces.netlink("middle").route("del", dst=f"{FAR}/32", type="unreachable")

    def raw_icmp(self, name: str) -> Unreachables:
        with inside(name):
            return Unreachables()

    def cut(self) -> None:
        self._shape("change", 100)

    def copy(self) -> None:
        """Deliver everything twice."""
        self._shape("change", 0, duplicate=100)

    def mend(self) -> None:
        self._shape("change", 0)


class Flow:
    """A connection that always has data to send, paced by its window."""

    def __init__(self, variant: str = "reno", sack: bool = True, timestamps: bool = True) -> None:
        for name in ("near", "far"):
            with inside(name):
                Path("/proc/sys/net/ipv4/tcp_sack").write_text(str(int(sack)))
                Path("/proc/sys/net/ipv4/tcp_timestamps").write_text(str(int(timestamps)))
        with inside("far"):
            listener = socket.create_server((FAR, 0))
        with inside("near"):
            self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, variant.encode())
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 60_000)
        # A port of its own: the kernel gives two connections to different ports the same one.
        self.socket.bind((NEAR, 0))
        self.socket.connect(listener.getsockname())
        self.near: tuple[str, int] = self.socket.getsockname()
        self.far: tuple[str, int] = self.socket.getpeername()
        self._peer, _ = listener.accept()
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 60_000)
        listener.close()
        self.sent = self.got = 0
        self.intact = True
        self.failed = False
        self._stop = False
        targets = (self._send, self._read)
        self._threads = [threading.Thread(target=t, daemon=True) for t in targets]
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Send nothing more but what `send` sends."""
        self._stop = True
        self._threads[0].join()

    def send(self) -> None:
        self.sent += self.socket.send(PATTERN[self.sent % 251 :][:1000])

    def _send(self) -> None:
        self.socket.setblocking(False)
        while not self._stop:
            try:
                self.send()
            except BlockingIOError:
                pass
            except OSError:
                self.failed = True
                return
            time.sleep(0.01)

    def _read(self) -> None:
        try:
            while part := self._peer.recv(1 << 16):
                self.intact &= part == PATTERN[self.got % 251 :][: len(part)]
                self.got += len(part)
        except OSError:
            pass

    def info(self) -> dict[str, int]:
        """struct tcp_info (linux/tcp.h)."""
        raw = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
        ca_state, retransmits = raw[1], raw[2]
        words = struct.unpack_from("=24I", raw, 8)
        (timeouts,) = struct.unpack_from("=H", raw, 240)
        return {
            "ca_state": ca_state,
            "retransmits": retransmits,
            "rto": words[0],
            "unacked": words[4],
            "lost": words[6],
            "rtt": words[15],
            "ssthresh": words[17],
            "cwnd": words[18],
            "reordering": words[20],
            "total": words[23],
            "timeouts": timeouts,
        }

    def close(self, drain: bool = True) -> bool:
        """Whether all that was sent has arrived; without ``drain``, close and do not wait."""
        self.pause()
        if drain:
            self.socket.shutdown(socket.SHUT_WR)
        else:
            self.socket.close()
            self._peer.shutdown(socket.SHUT_RD)
        self._threads[1].join(60)
        self.socket.close()
        self._peer.close()
        return self.intact and self.got == self.sent


class Sniffer:
    """First unacknowledged sequence number and all that is sent, seen on the wire."""

    def __init__(self) -> None:
        with inside("near"):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.bind(("w0", 3))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self._socket.setblocking(False)
        self.una: dict[int, int] = {}
        self.next: dict[int, int] = {}
        self.log: list[tuple[int, int, int]] = []
        """Port, sequence number and length of each segment with data."""

    def read(self) -> None:
        while True:
            try:
                frame, where = self._socket.recvfrom(1 << 16)
            except BlockingIOError:
                return
            if frame[12:14] != b"\x08\x00" or frame[23] != 6:
                continue
            tcp = 14 + (frame[14] & 15) * 4
            source, destination, sequence, ack = struct.unpack_from("!HHII", frame, tcp)
            length = struct.unpack_from("!H", frame, 16)[0] + 14 - tcp - (frame[tcp + 12] >> 4) * 4
            if where[2] == socket.PACKET_OUTGOING:
                if length > 0:
                    self.log.append((source, sequence, length))
                    self.next[source] = max(self.next.get(source, 0), sequence + length)
            else:
                self.una[destination] = ack
