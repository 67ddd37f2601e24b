# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.bench.peers.wmediumd PROGRAM SCENARIO``, in a guest: the scenario's network and
TCP flows with wmediumd as the medium. Prints what arrived, in kbit/s.

wmediumd delivers to all with whom the signal-to-noise ratio is above its limits: to neighbours
here, in the order of its queue, without contention.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from hoplab.guest.network.build import build
from hoplab.guest.routing import static
from hoplab.guest.system.processes import end, program
from hoplab.model.network.plan import Plan, plan
from hoplab.model.network.reach import neighbours
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

STARTING_S = 0.5
PATIENCE_S = 30.0
NEAR_DB, FAR_DB = 30, -30


def main(medium: str, scenario: str) -> None:
    planned = plan(resolve(parse(tomllib.loads(scenario), "bench")))
    network = build(planned)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "medium.cfg").write_text(_configuration(planned), encoding="utf-8")
        running: list[subprocess.Popen[bytes]] = []
        try:
            with (folder / "medium.log").open("wb") as log:
                command = [medium, "-l", "0", "-c", str(folder / "medium.cfg")]
                running.append(subprocess.Popen(command, stdout=log, stderr=log))
            static.install(planned, network.namespaces)
            for one in planned.conversations:
                server = [program("iperf3"), "-s", "-1", "-J", "--logfile", str(folder / one.name)]
                running.append(
                    network.namespaces.spawn(one.flow.destination, server, folder / "log")
                )
            time.sleep(STARTING_S)
            for one in planned.conversations:
                client = [program("iperf3"), "-c", one.destination_address, "-M", "1460"]
                client += ["-t", f"{planned.scenario.duration_s:g}"]
                running.append(network.namespaces.spawn(one.flow.source, client, folder / "log"))
            for process in reversed(running[1:]):
                if process.wait(planned.scenario.duration_s + PATIENCE_S):
                    said = [file.read_text("utf-8", "replace") for file in folder.glob("*log")]
                    sys.exit("wmediumd: " + " ".join(said))
            for one in planned.conversations:
                told = json.loads((folder / one.name).read_text(encoding="utf-8"))
                received = told["end"]["sum_received"]["bits_per_second"]
                print(f"{one.name} {received / 1000:.0f}")
        finally:
            for process in running:
                end(process)
            network.close()


def _configuration(planned: Plan) -> str:
    """In the form of libconfig."""
    stations = list(planned.radios)
    near = neighbours(planned.scenario)
    ids = ", ".join(f'"{planned.mac[one]}"' for one in stations)
    links = ", ".join(
        f"({i}, {j}, {NEAR_DB if other in near[one] else FAR_DB})"
        for i, one in enumerate(stations)
        for j, other in enumerate(stations)
        if i != j
    )
    return f"ifaces: {{ ids = [{ids}]; links = ({links}); }};\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
