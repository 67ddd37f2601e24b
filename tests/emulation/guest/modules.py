# SPDX-License-Identifier: Apache-2.0
"""Inside a guest: many connections of every variant at once over a bad link, then unloading.

Prints one line of JSON. Arguments: the modules' files, to load again what was unloaded.
"""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

TCP_CONGESTION, TCP_CC_INFO = 13, 26
VARIANTS = ("tahoe", "reno_classic", "tcpw", "window")
MODULES = ("tcp_tahoe", "tcp_reno_classic", "tcp_tcpw", "tcp_window")
EACH = 12
BYTES = 300_000
PAYLOAD = bytes(range(256)) * (BYTES // 256)


def worsen_loopback(loss_percent: int) -> None:
    """Losses, and 4 ms of delay that varies, so packets overtake each other."""
    with IPRoute() as netlink:
        index = netlink.link_lookup(ifname="lo")[0]
        netlink.link("set", index=index, mtu=1500)
        netem = {"delay": 4000, "jitter": 1000, "loss": loss_percent, "limit": 10_000}
        netlink.tc("replace", "netem", index, "1:", **netem)


def unanswered(variant: str) -> bool:
    """Whether a SYN's timer runs out, twice: hooks are called before the module's init."""
    with socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, variant.encode())
        sender.settimeout(5)
        try:
            sender.connect(("127.0.0.1", 9))
        except TimeoutError:
            return True
    return False


def receive(listener: socket.socket, digests: list[str]) -> None:
    connection, _ = listener.accept()
    digest = hashlib.sha256()
    with connection:
        left = len(PAYLOAD)
        while left and (data := connection.recv(1 << 16)):
            digest.update(data)
            left -= len(data)
        connection.sendall(b".")
    digests.append(digest.hexdigest())


def send(port: int, variant: str, told: list[int], switch: bool) -> None:
    with socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, variant.encode())
        sender.connect(("127.0.0.1", port))
        half = len(PAYLOAD) // 2
        sender.sendall(PAYLOAD[:half])
        if switch:
            # To another algorithm while segments are out, SACK agreed.
            other = VARIANTS[(VARIANTS.index(variant) + 1) % len(VARIANTS)]
            sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, other.encode())
        sender.sendall(PAYLOAD[half:])
        # Not before all is acknowledged: an algorithm that has just been switched to has no sample.
        sender.recv(1)
        info = sender.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
        if len(info) >= 12:
            low, high, _ = struct.unpack_from("=III", info)
            told.append(high << 32 | low)


def transfer(variants: list[str], switch: bool) -> tuple[int, list[int]]:
    """Transfers that arrived intact, and what tcpw's sockets reported."""
    digests: list[str] = []
    told: list[int] = []
    threads = []
    for variant in variants:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        threads.append(threading.Thread(target=receive, args=(listener, digests)))
        threads.append(threading.Thread(target=send, args=(port, variant, told, switch)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return digests.count(hashlib.sha256(PAYLOAD).hexdigest()), told


def unload(name: str) -> bool:
    return subprocess.run(["rmmod", name], capture_output=True).returncode == 0


def main(files: list[str]) -> dict[str, Any]:
    worsen_loopback(100)
    timed_out = [unanswered(variant) for variant in VARIANTS]
    worsen_loopback(3)
    sack = Path("/proc/sys/net/ipv4/tcp_sack")
    intact = 0
    told: list[int] = []
    for switch in (False, True):
        for with_sack in ("0", "1"):
            sack.write_text(with_sack)
            count, some = transfer(list(VARIANTS) * EACH, switch)
            intact += count
            told += some
    with socket.socket() as user:
        user.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"tahoe")
        unloaded_in_use = unload("tcp_tahoe")
    # Closed connections may wait for their last acknowledgement; each still uses its module.
    Path("/proc/sys/net/ipv4/tcp_fin_timeout").write_text("1")
    threading.Event().wait(120)
    unloaded = [unload(name) for name in MODULES]
    for file in files:
        subprocess.run(["insmod", file], check=True)
    again, _ = transfer(list(VARIANTS), False)
    kernel = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return {
        "timed_out": timed_out,
        "intact": intact,
        "expected": 4 * EACH * len(VARIANTS),
        "told": sorted(told)[:: max(1, len(told) - 1)],
        "unloaded_in_use": unloaded_in_use,
        "unloaded": unloaded,
        "again": again,
        "complaints": [
            line
            for line in kernel.splitlines()
            if "WARNING" in line or "BUG" in line or "Oops" in line
        ],
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
