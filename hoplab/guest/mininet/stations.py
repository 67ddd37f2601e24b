# SPDX-License-Identifier: Apache-2.0
"""``[network] built_by = "mininet-wifi"``: Mininet-WiFi makes stations and radios, Hoplab the
rest."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hoplab.guest.mininet.radios import MODES, check
from hoplab.guest.mininet.surroundings import INSIDE, PYTHON, VARIABLE, surroundings
from hoplab.guest.network import build, wifi
from hoplab.guest.network.build import Network
from hoplab.guest.system.processes import last_line
from hoplab.model import writing
from hoplab.model.errors import HoplabError
from hoplab.model.network.plan import WIRELESS, Plan

STOP_S = 20.0


class Mininet:
    """A Mininet-WiFi that has made the stations of ``plan``, in a process of its own."""

    def __init__(self, plan: Plan, log: Path) -> None:
        radio = plan.scenario.radio
        asked = {
            "ssid": wifi.SSID,
            "mode": MODES[str(radio.standard)],
            "channel": radio.channel,
            "stations": [
                {"name": s.name, "radio": s.radio, "place": [s.x_m, s.y_m]}
                for s in plan.scenario.station
            ],
        }
        with writing.added(log) as messages:
            self._process = subprocess.Popen(
                [os.environ[PYTHON], str(INSIDE / "build.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=surroundings(os.environ.get(VARIABLE)),
                cwd=log.parent,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
            self.made: dict[str, dict[str, Any]] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            self.close()
            raise HoplabError(
                f"Mininet-WiFi: did not make the stations: {last_line(log)}; see logs/{log.name}"
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Have it remove what it made."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.close()
            process.wait(STOP_S)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()


def make(
    out: Path, plan: Plan, created: Callable[[str], None], adopted: Callable[[str], None]
) -> Network:
    """Make the network of ``plan`` with stations of Mininet-WiFi's. Raises `HoplabError` if it
    makes none. ``created`` and ``adopted`` receive the names of namespaces; ``adopted`` those that
    others own."""
    check(plan.scenario)
    return build.build(plan, created, functools.partial(_stations, out, adopted))


def _stations(out: Path, adopted: Callable[[str], None], plan: Plan, network: Network) -> None:
    mininet = Mininet(plan, out / "logs" / "mininet-wifi.log")
    network.radios = mininet
    namespaces = network.namespaces
    for station in plan.scenario.station:
        namespaces.adopt(station.name, mininet.made[station.name]["pid"], adopted)
        lo = namespaces.index(station.name, build.LOOPBACK)
        namespaces.links(station.name).set(lo, up=True)
        build.settings(plan, namespaces, station)
        if station.radio:
            (wlan,), (phy, _) = plan.wlans[station.name], wifi.only_phy(station.name)
            wifi.settle(namespaces, wlan, phy, plan.scenario.radio)
            _without_addresses(network, station.name)
            network.mac[station.name] = mininet.made[station.name]["mac"]
        build.address(plan, namespaces, station)


def _without_addresses(network: Network, station: str) -> None:
    index = network.namespaces.index(station, WIRELESS)
    network.namespaces.netlink(station).flush_addr(index=index)
