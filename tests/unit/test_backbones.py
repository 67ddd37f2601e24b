# SPDX-License-Identifier: Apache-2.0
"""Stations with several radios: one in each cell and backbone that they are in."""

import re
import tomllib
from pathlib import Path

import pytest

from hoplab.guest.medium.config import of_radios
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.faults import Event, Loss
from hoplab.model.network.plan import Plan, plan
from hoplab.model.network.reach import neighbours
from hoplab.model.network.wlans import channel_of, station_of
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve
from tests.scenarios import resolved

STATIONS = """
[radio]
profile = "80211n"
channel = 36
[[station]]
name = "phone"
[[station]]
name = "west"
x_m = 20
[[station]]
name = "relay"
x_m = 90
[[station]]
name = "east"
x_m = 160
"""
CELL = """
[[cell]]
access_point = "west"
clients = ["phone"]
"""
BACKBONE = """
[[backbone]]
stations = ["west", "relay", "east"]
channel = 149
"""
AD_HOC = BACKBONE + 'mode = "ad-hoc"\n'
HOME = STATIONS + CELL + BACKBONE


def planned(text: str) -> Plan:
    return plan(resolved(text))


def test_a_station_has_a_radio_in_each_network() -> None:
    found = planned(HOME)
    names = {station: [w.name for w in wlans] for station, wlans in found.wlans.items()}
    assert names == {
        "phone": ["phone"],
        "west": ["west", "west:wlan1"],
        "relay": ["relay"],
        "east": ["east"],
    }
    assert found.wlans["west"][1].interface == "wlan1"
    assert [station_of(name) for name in names["west"]] == ["west", "west"]
    # One address for each station, one MAC for each radio.
    assert set(found.address) == set(names)
    assert len(set(found.mac.values())) == 5
    assert found.mac["west:wlan1"] == "02:00:00:01:00:02"


def test_each_radio_is_on_its_networks_channel() -> None:
    found = planned(HOME)
    channels = {
        wlan.name: channel_of(found.scenario, wlan)
        for wlans in found.wlans.values()
        for wlan in wlans
    }
    assert channels == {"phone": 36, "west": 36, "west:wlan1": 149, "relay": 149, "east": 149}
    assert found.radio_of(found.wlans["west"][1]).channel == 149


def test_packets_leave_by_the_radio_that_the_neighbour_hears() -> None:
    found = planned(HOME)
    assert found.way("west", "phone") == ("wlan0", found.mac["phone"])
    assert found.way("west", "east") == ("wlan1", found.mac["east"])
    assert found.way("east", "west") == ("wlan0", found.mac["west:wlan1"])
    assert found.way("phone", "east") is None


def test_a_mesh_is_one_hop_of_ip_and_an_ad_hoc_network_is_several() -> None:
    assert neighbours(resolved(HOME))["west"] == ["phone", "relay", "east"]
    assert neighbours(resolved(STATIONS + CELL + AD_HOC))["west"] == ["phone", "relay"]


def test_stations_beyond_the_mesh_are_no_neighbours() -> None:
    apart = HOME.replace("x_m = 90", "x_m = 30")
    assert neighbours(resolved(apart))["west"] == ["phone", "relay"]


def test_a_mesh_takes_its_time_before_time_0() -> None:
    assert resolved(HOME).warm_up_s == 14.5
    assert resolved(STATIONS + CELL + AD_HOC).warm_up_s == 4.5


def test_what_happens_to_a_station_happens_to_its_radios() -> None:
    found = planned(HOME)
    down = Event(at_s=1, kind="down", station="west")
    assert [event.station for event in of_radios(found, down)] == ["west", "west:wlan1"]
    loss = Loss(rate=0.1, src="west", dst="relay")
    pairs = [(each.src, each.dst) for each in of_radios(found, loss)]
    assert pairs == [("west", "relay"), ("west:wlan1", "relay")]
    everywhere = Loss(rate=0.1)
    assert of_radios(found, everywhere) == [everywhere]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (HOME.replace("channel = 149", ""), "backbone.0.stations.0: west is in cell.0 already"),
        (
            HOME.replace("149", "40").replace(
                "channel = 36", 'channel = 36\nwidth_mhz = 40\nrules = "802.11"'
            ),
            "overlaps",
        ),
        (HOME.replace("149", "7"), "backbone.0.channel: 7"),
        (HOME.replace('"east"]', '"east", "east"]'), "backbone.0: stations: one is given twice"),
        (HOME.replace('"east"]', '"oest"]'), "backbone.0.stations.2: oest: there is no such"),
        (HOME.replace('"east"]', "]"), "station east: is in no cell or backbone"),
        (HOME + '[routing]\nprotocol = "babeld"', '"babeld" is for stations that are all alike'),
        (HOME + 'name = "a"' + BACKBONE + 'name = "a"', "backbone.1.stations.0: west"),
        (
            STATIONS.replace("80211n", "80211ax") + CELL + AD_HOC + "[radio.nic]\n",
            "in cells and meshes only",
        ),
        (
            STATIONS
            + CELL.replace("west", "relay")
            + BACKBONE
            + '[network]\nbuilt_by = "mininet-wifi"',
            "cell: is made where network.built_by",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(text: str, mistake: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(mistake)):
        resolved(text)


def test_roaming_clients_are_in_one_cell() -> None:
    text = (Path(__file__).parents[2] / "docs/examples/roaming.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    other = {"access_point": document["cell"][1]["access_point"], "clients": [], "channel": 149}
    client = next(name for cell in document["cell"] for name in cell["clients"])
    document["cell"].append(other | {"clients": [client]})
    with pytest.raises(ScenarioError, match="of cells with roaming a station is in one"):
        resolve(file.parse(document, "roaming.toml"))
