# SPDX-License-Identifier: Apache-2.0
"""Access points, ad hoc cells and meshes with hostapd, wpa_supplicant, udhcpd and iw."""

import time
from pathlib import Path

import pytest

from tests.ported.conftest import sh

AP = "interface=wlan0\nssid=test\nhw_mode=g\nchannel=1\n"
WPA = "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=correct horse\n"


def access_point(folder: Path, settings: str) -> None:
    (folder / "hostapd.conf").write_text(settings)
    sh(f"hostapd -B {folder}/hostapd.conf", "sta0")


def supplicant(folder: Path, network: str) -> None:
    (folder / "wpa.conf").write_text(
        f'ctrl_interface={folder}/wpa\nnetwork={{\nssid="test"{network}}}'
    )
    sh(f"wpa_supplicant -B -D nl80211 -i wlan1 -c {folder}/wpa.conf", "sta1")


def state(folder: Path) -> str:
    return sh(f"wpa_cli -p {folder}/wpa -i wlan1 status | sed -n s/wpa_state=//p", "sta1").strip()


@pytest.mark.hoplab(radios=2)
def test_a_station_joins_with_the_passphrase(stations, tmp_path):
    stations(2)
    access_point(tmp_path, AP + WPA)
    supplicant(tmp_path, '\npsk="correct horse"\n')
    time.sleep(10)
    assert state(tmp_path) == "COMPLETED"
    assert "3 received" in sh("ping -c 3 10.1.0.1", "sta1")


@pytest.mark.hoplab(radios=2)
def test_a_wrong_passphrase_never_joins(stations, tmp_path):
    stations(2)
    access_point(tmp_path, AP + WPA)
    supplicant(tmp_path, '\npsk="battery staple"\n')
    for _ in range(60):  # a minute, which takes none
        time.sleep(1)
        assert state(tmp_path) != "COMPLETED"


@pytest.mark.hoplab(radios=2)
def test_dhcp_hands_out_an_address_over_wifi(stations, tmp_path):
    stations(2)
    access_point(tmp_path, AP)
    sh("ip addr flush dev wlan1", "sta1")
    supplicant(tmp_path, "\nkey_mgmt=NONE\n")
    (tmp_path / "udhcpd.conf").write_text(
        f"start 10.1.0.50\nend 10.1.0.50\ninterface wlan0\nlease_file {tmp_path}/leases\n"
        "option subnet 255.255.255.0\n"
    )
    (tmp_path / "leases").touch()
    sh(f"udhcpd -S {tmp_path}/udhcpd.conf", "sta0")
    time.sleep(10)
    sh("udhcpc -i wlan1 -n -q", "sta1")
    assert "10.1.0.50" in sh("ip -4 addr show dev wlan1", "sta1")
    assert "1 received" in sh("ping -c 1 10.1.0.1", "sta1")


@pytest.mark.hoplab(radios=3)
def test_an_ad_hoc_cell_forms_and_multicast_reaches_all(stations):
    names = stations(3)
    for i, name in enumerate(names):
        sh(f"iw dev wlan{i} set type ibss; ip link set wlan{i} up", name)
        sh(f"iw dev wlan{i} ibss join cell 2412 fixed-freq 02:ca:fe:ca:fe:01", name)
    time.sleep(5)
    assert "2 received" in sh("ping -c 2 10.1.0.3", "sta0")
    for listener in names[1:]:
        sh("sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0", listener)
    answers = sh("ping -c 2 -I wlan0 224.0.0.1", "sta0")
    assert {"10.1.0.2", "10.1.0.3"} <= {word.rstrip(":") for word in answers.split()}


@pytest.mark.hoplab(radios=3)
def test_a_mesh_peers_and_carries_packets(stations):
    for i, name in enumerate(stations(3)):
        sh(f"iw dev wlan{i} set type mp; ip link set wlan{i} up", name)
        sh(f"iw dev wlan{i} mesh join lab freq 2412", name)
    time.sleep(10)
    assert sh("iw dev wlan0 station dump", "sta0").count("ESTAB") == 2
    assert "3 received" in sh("ping -c 3 10.1.0.3", "sta0")
