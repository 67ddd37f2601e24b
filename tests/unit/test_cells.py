# SPDX-License-Identifier: Apache-2.0
"""What cells mean, and which are refused, in one line each."""

from pathlib import Path

import pytest

from hoplab.host.machine.sealed import Machine
from hoplab.host.runs import beginning
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.powers import received_dbm
from hoplab.model.network.reach import neighbours
from hoplab.model.network.wlans import categories_of, channel_of, wlans
from hoplab.model.resolve.file import load
from hoplab.model.resolve.resolve import resolve

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
TWO_CELLS = """
[[cell]]
access_point = "ap"
clients = ["n0"]
channel = {}
[[cell]]
access_point = "n1"
clients = ["n2"]
channel = {}
[[station]]
name = "n2"
x_m = -190
{}
"""
HT = """
[radio]
profile = "80211n"
"""
HT_40 = """
[radio]
profile = "80211n"
width_mhz = 40
range_m = 210
"""
OWN_RATE = """
[[station]]
name = "n2"
mcs = 3
"""
WEIGHTS = """
[[station]]
name = "n2"
airtime_weight = 512
"""
EDCA = """
[radio]
profile = "80211n"
range_m = 210
{}
[[cell]]
access_point = "ap"
clients = ["n0", "n1"]
[cell.edca]
{}
"""
FQ_CODEL = """
[radio]
profile = "80211n"
queue = "fq_codel"
range_m = 210
"""
ONE_CLIENT = CELL.replace(', "n1"', "")


ROAMING = """
[radio]
propagation = "log-distance"
exponent = 3.0
profile = "80211g"
range_m = 250
carrier_sense_m = 500
[[cell]]
access_point = "ap"
clients = ["n0"]
ssid = "campus"
roaming = "bgscan"
[[cell]]
access_point = "n1"
clients = []
ssid = "campus"
roaming = "bgscan"
"""


def resolved(folder: Path, text: str) -> Resolved:
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
    assert Resolved.model_validate_json(text) == found
    assert "passphrase" not in text


def test_clients_are_neighbours_by_way_of_their_access_point(tmp_path: Path) -> None:
    """Although they are out of each other's reach."""
    graph = neighbours(resolved(tmp_path, STATIONS + CELL))
    assert graph == {"ap": ["n0", "n1"], "n0": ["ap", "n1"], "n1": ["ap", "n0"], "srv": []}


def test_stations_of_two_cells_are_no_neighbours(tmp_path: Path) -> None:
    more = '[[station]]\nname = "m"\n' + CELL.replace('"ap"', '"m"').replace('"n0", ', "")
    graph = neighbours(resolved(tmp_path, STATIONS + ONE_CLIENT + more))
    assert graph["ap"] == ["n0"] and graph["m"] == ["n1"]


def test_stations_of_a_cell_are_on_its_channel(tmp_path: Path) -> None:
    found = resolved(tmp_path, STATIONS + TWO_CELLS.format(1, 11, ""))
    channels = {wlan.name: channel_of(found, wlan) for wlan in wlans(found)}
    assert channels == {"ap": 1, "n0": 1, "n1": 11, "n2": 11}


def test_a_channel_that_is_everybodys_is_nobodys_own(tmp_path: Path) -> None:
    """So that such a scenario is what it was without the key."""
    found = resolved(tmp_path, STATIONS + TWO_CELLS.format(6, 6, "[radio]\nchannel = 6"))
    assert {channel_of(found, wlan) for wlan in wlans(found)} == {None}


def test_members_of_a_cell_have_its_categories(tmp_path: Path) -> None:
    """Its access point has its own where they are given, and keys that are not given are the
    standard's, whatever [radio.edca] has."""
    text = EDCA.format("edca.voice.cw_min = 1", "voice.aifsn = 3")
    for more, aifsn in (("", 3), ("[cell.edca_ap.voice]\naifsn = 1", 1)):
        found = resolved(tmp_path, STATIONS + text + more)
        voice = {
            wlan.name: categories.complete()[0]
            for wlan in wlans(found)
            if (categories := categories_of(wlan)) is not None
        }
        client = (3, 3, 7, 1504.0)
        assert voice == {"ap": (aifsn, *client[1:]), "n0": client, "n1": client}


def test_cells_that_roam_are_one_network(tmp_path: Path) -> None:
    """Its members reach each other whichever access point they are at, and scans begin where the
    signal is that of half the reach."""
    found = resolved(tmp_path, STATIONS + ROAMING)
    assert neighbours(found)["n0"] == ["ap", "n1"] and neighbours(found)["n1"] == ["ap", "n0"]
    assert [len(cells) for cells in found.networks] == [2]
    half_dbm = round(received_dbm(found.radio, 125))
    for cell in found.cell:
        assert (cell.bgscan_short_s, cell.bgscan_dbm, cell.bgscan_long_s) == (2, half_dbm, 60)
    assert resolve(found) == found


def test_access_points_that_are_one_network_have_wires_of_a_rate(tmp_path: Path) -> None:
    """A wire without rate and delay carries any number of packets in one instant."""
    first, second = ROAMING.rsplit("[[cell]]", 1)
    slow = f"{first}[[cell]]\nwire_rate_mbps = 54\nwire_delay_ms = 0{second}"
    found = resolved(tmp_path, STATIONS + slow)
    assert [(cell.wire_rate_mbps, cell.wire_delay_ms) for cell in found.cell] == [
        (1000.0, 0.1),
        (54.0, 0.0),
    ]
    assert [cell.wire.ends[0] for cell in found.cell] == ["ap", "n1"]
    assert resolve(found) == found


def test_cells_of_one_name_that_do_not_roam_are_two_networks(tmp_path: Path) -> None:
    two = TWO_CELLS.replace("channel = {}", 'ssid = "campus"').format("")
    found = resolved(tmp_path, STATIONS + two)
    assert [len(cells) for cells in found.networks] == [1, 1] and not found.roams
    assert neighbours(found)["n0"] == ["ap"]


@pytest.mark.parametrize(
    ("channels", "width_mhz"),
    [((36, 40), 20), ((36, 44), 40), ((36, 149), 80), ((149, 157), 40), ((44, 48), 20)],
)
def test_channels_side_by_side_do_not_overlap(
    tmp_path: Path, channels: tuple[int, int], width_mhz: int
) -> None:
    radio = f'[radio]\nprofile = "80211ac"\nwidth_mhz = {width_mhz}\nrange_m = 210'
    resolved(tmp_path, STATIONS + TWO_CELLS.format(*channels, radio))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TWO_CELLS.format(1, 4, ""), ["cell.1.channel: 4 overlaps 1", "cell.0.channel"]),
        (TWO_CELLS.format(1, 15, ""), ["cell.1.channel: 15", "one of 1, 2"]),
        (TWO_CELLS.format(1, 36, ""), ["cell.1.channel: 36", "band"]),
        (
            TWO_CELLS.format(36, 40, f'{HT_40}rules = "802.11"'),
            ["cell.1.channel: 40 overlaps 36"],
        ),
        (TWO_CELLS.format(36, 165, f"{HT_40}"), ["cell.1.channel: 165", "20 MHz", "width_mhz"]),
        (CELL + "chanel = 1", ["cell.0.chanel: unknown key", "allowed: access_point"]),
        (CELL + 'security = "wep"', ["cell.0.security: 'wep'", "wpa2"]),
        (CELL.replace("access_point", "#"), ["cell.0.access_point: missing"]),
        (CELL.replace('["n0", "n1"]', "[]"), ["cell.0", "clients: is empty"]),
        (CELL.replace('"n1"]', '"n0"]'), ["cell.0", "clients", "twice"]),
        (CELL.replace('"n1"]', '"ap"]'), ["cell.0", "ap is the access point itself"]),
        (
            ROAMING.replace('"bgscan"', '"802.11r"', 1),
            ["cell.0: roaming", '"802.11r"', 'security is "open"'],
        ),
        (CELL + "bgscan_long_s = 9", ["cell.0: bgscan_long_s", "roaming"]),
        (CELL + "wire_rate_mbps = 54", ["cell.0: wire_rate_mbps", "roaming"]),
        (
            ROAMING + "wire_rate_mbps = 10_000\nwire_delay_ms = 1000",
            ["cell.1: 10000 Mbit/s and 1000 ms hold", "at most 100000; lower one"],
        ),
        (CELL + 'roaming = "bgscan"', ["cell.0.roaming: no other cell", "'cell0'"]),
        (ROAMING + 'security = "wpa2"', ["cell.1.security: differs from cell.0.security"]),
        (
            ROAMING.replace('ssid = "campus"\nroaming = "bgscan"\n[[', 'ssid = "campus"\n[['),
            ["cell.1.roaming: differs", "'campus'"],
        ),
        (
            ROAMING.replace('["n0"]', "[]")
            + CELL.replace(', "n1"', "").replace('"ap"', '"n2"')
            + '[[station]]\nname = "n2"\nx_m = 100',
            ["cell.0.clients", "'campus'", "name one"],
        ),
        (
            ROAMING.replace("exponent = 3.0", "exponent = 2.0\ntx_power_dbm = 30"),
            ["cell.0.roaming", "250 m", "above -67 dBm", "lower radio.tx_power_dbm"],
        ),
        (ROAMING + '[network]\nmedium = "daemon"', ["roaming", "network.medium"]),
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
        (
            '[radio]\nprofile = "80211ac"\nrate_mbps = "auto"\nwidth_mhz = 40\n',
            ['radio.rate_mbps: "auto"', "width_mhz is 40", "VHT in ad hoc networks of 80 MHz only"],
        ),
        (OWN_RATE + CELL, ["station n2: mcs: 3", 'radio.standard is "802.11"', '"802.11n"']),
        (
            f'{HT}rate_mbps = "auto"\n{OWN_RATE}{CELL}',
            ["station n2: mcs: 3", 'radio.rate_mbps is "auto"', "remove one"],
        ),
        (f"{HT}{OWN_RATE}{CELL}", ["station n2: mcs: 3", "no client of a [[cell]]"]),
        (WEIGHTS + CELL, ["station n2: airtime_weight: 512", 'radio.queue is "fifo"', "fq_codel"]),
        (
            f"{FQ_CODEL}airtime_fairness = false\n{WEIGHTS}{CELL}",
            ["station n2: airtime_weight: 512", "airtime_fairness is false"],
        ),
        (f"{FQ_CODEL}{WEIGHTS}{CELL}", ["station n2: airtime_weight: 512", "no client"]),
        (f"{HT}{OWN_RATE}", ["station n2: mcs: 3", "no client of a [[cell]]"]),
        (
            CELL + "edca.voice.aifsn = 3",
            ["cell.0.edca: is given", 'radio.rules is "802.11"', '"80211n"', "remove it"],
        ),
        (CELL + "edca_ap.voice.aifsn = 3", ["cell.0.edca_ap: is given", "no access categories"]),
        (
            CELL + 'edca = {}\n[radio]\nprofile = "80211g"\nrange_m = 210\nrules = "edca"',
            ["cell.0.edca: is given", 'radio.standard is "802.11g"', "802.11n"],
        ),
        (EDCA.format("", "ampdu_octets = 1000"), ["cell.0.edca.ampdu_octets: unknown key"]),
        (EDCA.format("", "video.cw_min = 8"), ["cell.0.edca.video.cw_min: 8 is not 2^n - 1"]),
        (
            EDCA.format("", "voice.cw_min = 15"),
            ["cell.0.edca.voice.cw_max: 7 is below cw_min 15", "raise it"],
        ),
        (EDCA.format("", "voice.cw_min = 0"), ["cell.0.edca.voice.cw_min: 0", "at least 1"]),
        (EDCA.format("", "voice.aifsn = 1"), ["cell.0.edca.voice.aifsn: 1", "9.4.2.28", "edca_ap"]),
        (
            EDCA.format("", "background.txop_us = 1000"),
            ["cell.0.edca.background.txop_us: 1000 is no multiple of 32", "use 992"],
        ),
        (
            EDCA.format("edca.voice.aifsn = 1", "").replace("[cell.edca]", "edca_ap = {}"),
            ["radio.edca.voice.aifsn: 1", "a client waits at least 2"],
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(tmp_path, STATIONS + text)
    for word in words:
        assert word in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_manifest_has_the_version_of_each_program_of_a_cell(tmp_path: Path) -> None:
    """Debian's package of wpa_supplicant has another name."""
    names = ("hostapd", "wpasupplicant", "iperf3")
    packages = [{"name": name, "version": f"1-{name}"} for name in names]
    machine = Machine(tmp_path, "abc", {"packages": packages, "hoplab": "9", "files": {}})
    found = beginning._sealed_versions(resolved(tmp_path, STATIONS + CELL), machine)
    assert found == {
        "iperf3": "1-iperf3",
        "hoplab-medium": "hoplab 9",
        "hostapd": "1-hostapd",
        "wpa_supplicant": "1-wpasupplicant",
    }
