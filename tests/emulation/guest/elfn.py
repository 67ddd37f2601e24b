# SPDX-License-Identifier: Apache-2.0
"""Inside a guest: stand-by of connections over a wire that is cut, and notices of all kinds.

Prints one line of JSON. Argument: the module's file, to load again what was unloaded.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from hoplab.network.namespaces import Namespaces, inside
from hoplab.tcp.elfn import Connection, Elfn, record

TCP_INFO, TCP_CONGESTION, TCP_TIMESTAMP = 11, 13, 24
NEAR, FAR = "10.9.1.1", "10.9.2.1"
SETTINGS: dict[str, Any] = {
    "enabled": True,
    "probe_ms": 500,
    "resume": "as-before",
    "give_up_s": 100.0,
    "first_probe": "rto",
}
RANDOM_NOTICES = 1_000_000
IN_ONE = 60


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

    def _shape(self, how: str, loss: int) -> None:
        netlink = self.namespaces.netlink("middle")
        for interface in ("m1", "m2"):
            index = self.namespaces.index("middle", interface)
            netlink.tc(how, "netem", index, "1:", delay=10_000, loss=loss, limit=1000)

    def cut(self) -> None:
        self._shape("change", 100)

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
        self.socket.connect(listener.getsockname())
        self._peer, _ = listener.accept()
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 60_000)
        listener.close()
        self.sent = self.got = 0
        self.intact = True
        self._stop = False
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.start()

    @property
    def near(self) -> tuple[str, int]:
        host, port = self.socket.getsockname()
        return host, port

    @property
    def far(self) -> tuple[str, int]:
        host, port = self.socket.getpeername()
        return host, port

    def _send(self) -> None:
        try:
            while not self._stop:
                part = bytes((self.sent + i) % 251 for i in range(1000))
                self.socket.sendall(part)
                self.sent += len(part)
                time.sleep(0.01)
        except OSError:
            pass

    def _read(self) -> None:
        try:
            while part := self._peer.recv(1 << 16):
                self.intact &= part == bytes((self.got + i) % 251 for i in range(len(part)))
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
            "total": words[23],
            "timeouts": timeouts,
        }

    def close(self, drain: bool = True) -> bool:
        """Whether all that was sent has arrived."""
        self._stop = True
        self._threads[0].join()
        self.socket.shutdown(socket.SHUT_WR) if drain else self.socket.close()
        self._threads[1].join()
        self.socket.close()
        self._peer.close()
        return self.intact and self.got == self.sent


class Sniffer:
    """First unacknowledged sequence number and all that is sent, seen on the wire."""

    def __init__(self) -> None:
        with inside("near"):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.bind(("w0", 3))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
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


def wait_for(condition: Any, timeout_s: float = 60) -> bool:
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def one(elfn: Elfn, port: int) -> Connection | None:
    found = [c for c in elfn.connections() if c.local[1] == port]
    return found[-1] if found else None


def a_break(wire: Wire, elfn: Elfn, variant: str, sack: bool, timestamps: bool) -> dict[str, Any]:
    """Cut, notice, six seconds, mend: what the connection was and is."""
    flow = Flow(variant, sack, timestamps)
    sniffer = Sniffer()
    time.sleep(2)
    list(elfn.events())
    wire.cut()
    time.sleep(0.1)
    sniffer.read()
    port = flow.near[1]
    sequence = sniffer.una[port]
    before = flow.info()
    sniffer.log.clear()
    elfn.notice(record(flow.near, flow.far, sequence))
    time.sleep(6)
    sniffer.read()
    probes = [s for p, s, _ in sniffer.log if p == port]
    during = flow.info()
    end = sniffer.next[port]
    sniffer.log.clear()
    delivered = flow.got
    wire.mend()
    mended = time.monotonic()
    moved = wait_for(lambda: flow.got > delivered + 1000)
    moved_s = time.monotonic() - mended
    events = list(elfn.events())
    just_after = next((e for e in events if e.kind == "resume"), None)
    time.sleep(1)
    sniffer.read()
    again = [s for p, s, _ in sniffer.log if p == port and s < end]
    after = flow.info()
    connection = one(elfn, port)
    complete = flow.close()
    return {
        "variant": variant,
        "sack": sack,
        "timestamps": timestamps,
        "before": before,
        "during": during,
        "after": after,
        "probed_first_only": set(probes) == {sequence},
        "probes": len(probes),
        "resent_once": len(again) == len(set(again)),
        "resent": len(again),
        "moved": moved,
        "moved_s": moved_s,
        "events": [e.kind for e in events],
        "kept": just_after and [just_after.connection.cwnd, just_after.connection.ssthresh],
        "reason": connection.reason if connection else None,
        "complete": complete,
    }


def variants(wire: Wire, elfn: Elfn) -> list[dict[str, Any]]:
    found = []
    for variant, sack, timestamps in (
        ("reno", True, True),
        ("reno", False, False),
        ("cubic", True, True),
        ("vegas", True, False),
        ("westwood", False, True),
        ("bbr", True, True),
        ("tahoe", False, False),
        ("reno_classic", False, False),
        ("tcpw", True, True),
    ):
        found.append(a_break(wire, elfn, variant, sack, timestamps))
    return found


def main(file: str) -> dict[str, Any]:
    wire = Wire()
    elfn = Elfn("near")
    elfn.set(**SETTINGS)
    answer: dict[str, Any] = {"variants": variants(wire, elfn)}
    kernel = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    answer["counters"] = elfn.counters()
    answer["complaints"] = [
        line for line in kernel.splitlines() if "WARNING" in line or "BUG" in line or "Oops" in line
    ]
    return answer


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
