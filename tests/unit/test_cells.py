# SPDX-License-Identifier: Apache-2.0
"""What cells mean, and which are refused, in one line each."""

from pathlib import Path

import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.file import load
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.reach import neighbours
from hoplab.model.scenario.resolve import resolve

STATIONS = """
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 200
[[station]]
name = "n1"
x_m = -200
[[station]]
name = "srv"
radio = false
"""
CELL = """
[[cell]]
access_point = "ap"
clients = ["n0", "n1"]
"""
HT = """
[radio]
profile = "80211n"
"""
OWN_RATE = """
[[station]]
name = "n2"
mcs = 3
"""
ONE_CLIENT = CELL.replace(', "n1"', "")


def resolved(folder: Path, text: str) -> Scenario:
    path = folder / "scenario.toml"
    path.write_text(text)
    return resolve(load(path))


def test_what_is_not_given_has_a_value(tmp_path: Path) -> None:
    found = resolved(tmp_path, STATIONS + CELL)
    (cell,) = found.cell
    assert (cell.name, cell.ssid, cell.security) == ("cell0", "cell0", "open")
    assert found.warm_up_s is not None and found.warm_up_s > 1
    assert resolve(found) == found
    text = found.model_dump_json(exclude_none=True)
    assert Scenario.model_validate_json(text) == found
    assert "passphrase" not in text


def test_clients_are_neighbours_by_way_of_their_access_point(tmp_path: Path) -> None:
    """Although they are out of each other's reach."""
    graph = neighbours(resolved(tmp_path, STATIONS + CELL))
    assert graph == {"ap": ["n0", "n1"], "n0": ["ap", "n1"], "n1": ["ap", "n0"], "srv": []}


def test_stations_of_two_cells_are_no_neighbours(tmp_path: Path) -> None:
    more = '[[station]]\nname = "m"\n' + CELL.replace('"ap"', '"m"').replace('"n0", ', "")
    graph = neighbours(resolved(tmp_path, STATIONS + ONE_CLIENT + more))
    assert graph["ap"] == ["n0"] and graph["m"] == ["n1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CELL + "chanel = 1", ["cell.0.chanel: unknown key", "allowed: access_point"]),
        (CELL + 'security = "wep"', ["cell.0.security: 'wep'", "wpa2"]),
        (CELL.replace("access_point", "#"), ["cell.0.access_point: missing"]),
        (CELL.replace('["n0", "n1"]', "[]"), ["cell.0.clients"]),
        (CELL.replace('"n1"]', '"n0"]'), ["cell.0", "clients", "twice"]),
        (CELL.replace('"n1"]', '"ap"]'), ["cell.0", "ap is the access point itself"]),
        (CELL + 'ssid = "a\\nb"', ["cell.0.ssid", "32 octets"]),
        (CELL + f'ssid = "{"ä" * 17}"', ["cell.0.ssid", "32 octets"]),
        (CELL + 'passphrase = "long enough"', ["cell.0: passphrase", 'security is "wpa2"']),
        (CELL + 'security = "wpa2"\npassphrase = "short"', ["cell.0.passphrase"]),
        (
            CELL + 'security = "wpa3"\n[radio]\nprofile = "80211n"\nrange_m = 210\n'
            '[network]\nmedium = "daemon"',
            ["cell.0.security", '"wpa3"', "network.medium"],
        ),
        (CELL.replace("n1", "n9"), ["cell.0.clients.1", "n9", "no such station"]),
        (CELL.replace("n1", "srv"), ["cell.0.clients.1", "srv", "no radio"]),
        (CELL + ONE_CLIENT, ["cell.1.access_point", "ap is in cell.0 already"]),
        (ONE_CLIENT, ["station n1: is in no cell", "radio = false"]),
        ('[routing]\nprotocol = "dsr"' + CELL, ["routing.protocol", '"dsr"', '"static"']),
        ('[radio]\nmac = "csma-ca-noack"' + CELL, ["radio.mac", "no client associates"]),
        ("[radio]\nrange_m = 150" + CELL, ["cell.0.clients.0", "200 m from ap", "150 m"]),
        ('[network]\nbuilt_by = "mininet-wifi"' + CELL, ["cell", "network.built_by"]),
        (OWN_RATE + CELL, ["station n2: mcs: 3", 'radio.standard is "802.11"', '"802.11n"']),
        (f"{HT}{OWN_RATE}{CELL}", ["station n2: mcs: 3", "no client of a [[cell]]"]),
        (f"{HT}{OWN_RATE}", ["station n2: mcs: 3", "no client of a [[cell]]"]),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(tmp_path, STATIONS + text)
    for word in words:
        assert word in str(error.value)
    assert len(str(error.value).splitlines()) == 1
