# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.bench.bare OCTETS``, in a guest: sends so many by TCP between two radios that
no medium looks after. Frames then take no time, and the wall time is what TCP, mac80211 and hwsim
cost."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hoplab.guest.network.build import build
from hoplab.guest.routing import static
from hoplab.guest.system.processes import program
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

PAIR = {
    "duration_s": 4,
    "topology": {"kind": "chain", "stations": 2, "spacing_m": 5},
    # 866.7 Mbit/s.
    "radio": {
        "profile": "80211ac",
        "mcs": 9,
        "streams": 2,
        "width_mhz": 80,
        "guard_ns": 400,
    },
    "flow": [{"source": "n0", "destination": "n1"}],
}
LISTENING_S = 0.5


def main(octets: str) -> None:
    planned = plan(resolve(parse(PAIR, "bench")))
    first, second = planned.radios
    network = build(planned)
    with tempfile.TemporaryDirectory() as folder:
        try:
            static.install(planned, network.namespaces)
            log = Path(folder) / "log"
            iperf3 = program("iperf3")
            server = network.namespaces.spawn(second, [iperf3, "-s", "-1"], log)
            time.sleep(LISTENING_S)
            command = [iperf3, "-c", planned.address[second], "-n", octets, "-M", "1460"]
            client = network.namespaces.spawn(first, command, log)
            if client.wait() or server.wait():
                raise subprocess.CalledProcessError(1, command, log.read_bytes())
        finally:
            network.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
