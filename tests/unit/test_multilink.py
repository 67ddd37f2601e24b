# SPDX-License-Identifier: Apache-2.0
"""Several links of a cell (802.11be): the medium's document, and where they cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import plan
from tests.scenarios import resolved

CELL = """
{radio}
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 10
[[cell]]
access_point = "a"
clients = ["b"]
{cell}
"""


def text(cell: str, radio: str = "", profile: str = "80211be") -> str:
    return CELL.format(radio=f'[radio]\nprofile = "{profile}"\n{radio}', cell=cell)


def radios(tmp_path: Path, cell: str, radio: str = "") -> list[dict[str, Any]]:
    (tmp_path / "raw").mkdir()
    scenario = resolved(text(cell, radio))
    written = config.write(plan(scenario), 0, tmp_path, overhear=False)
    stations: list[dict[str, Any]] = json.loads(written.read_text())["stations"]
    return stations


def test_each_radio_of_the_cell_has_its_links(tmp_path: Path) -> None:
    links = (
        'security = "wpa3"\nlinks = [{channel = 149, width_mhz = 40}, {channel = 37, band_ghz = 6}]'
    )
    for radio in radios(tmp_path, links):
        assert radio["channel_mhz"] == 5180
        assert radio["links"] == [
            {"channel_mhz": 5745, "width_mhz": 40},
            {"channel_mhz": 6135, "width_mhz": 80, "frequency_mhz": 6135.0},
        ]


def test_clients_may_have_one_radio_for_their_links(tmp_path: Path) -> None:
    links = 'links = [{channel = 149}]\nlink_mode = "emlsr"\nemlsr_transition_us = 128'
    access_point, client = radios(tmp_path, links)
    assert "emlsr" not in access_point
    # The padding is the default.
    assert client["emlsr"] == {"padding_ns": 32_000, "transition_ns": 128_000}


def test_by_default_a_client_has_a_radio_for_each_link(tmp_path: Path) -> None:
    assert all("emlsr" not in radio for radio in radios(tmp_path, "links = [{channel = 149}]"))


def test_without_links_the_document_says_nothing_of_them(tmp_path: Path) -> None:
    assert all("links" not in radio for radio in radios(tmp_path, ""))


def test_links_of_other_widths_are_parts_of_the_channels(tmp_path: Path) -> None:
    """A cell on a channel that overlaps a link's hears parts of it."""
    radio = radios(tmp_path, "width_mhz = 40\nlinks = [{channel = 44, width_mhz = 40}]")[0]
    assert radio["links"] == [{"channel_mhz": 5220, "width_mhz": 40}]


@pytest.mark.parametrize(
    ("cell", "radio", "profile", "words"),
    [
        ("links = [{channel = 149}]", "", "80211ax", "links: several links are 802.11be's, .* use"),
        ("links = [{channel = 44}]", "", "80211be", "links.0.channel: 44 shares frequencies with"),
        ("links = [{channel = 3, band_ghz = 2.4}]", "", "80211be", "are at 5 or 6 GHz here"),
        ("links = [{channel = 37, band_ghz = 6}]", "", "80211be", "must have WPA3"),
        ("links = [{channel = 150}]", "", "80211be", "links.0.channel: 150 is no channel"),
        ("links = [{channel = 149, width_mhz = 160}]", "", "80211be", "more than radio.width_mhz"),
        ("links = [{channel = 165}]", "", "80211be", "has neighbours for 20 MHz at most"),
        ("power_save = true\nlinks = [{channel = 149}]", "", "80211be", "not go with power_save"),
        ("links = [{channel = 149}]", "energy = {battery_j = 5}", "80211be", "battery_j"),
        ("links = [{channel = 149}]", 'aggregation = "kernel"', "80211be", '"kernel"'),
        ("links = [{channel = 149}]", 'rules = "802.11"', "80211be", "radio.rules"),
        (
            "links = [{channel = 149}, {channel = 149}]",
            "",
            "80211be",
            "links.1.channel: 149 shares frequencies with cell.0.links.0.channel: 149",
        ),
        (
            "links = [{channel = 52}, {channel = 100}, {channel = 149}]",
            "",
            "80211be",
            "links: .*at most 2",
        ),
        ('link_mode = "emlsr"', "", "80211be", '"emlsr" is for several links; name further'),
        (
            'links = [{channel = 149}]\nlink_mode = "nstr"',
            "",
            "80211be",
            "link_mode: 'nstr' is not allowed .* one of: str, emlsr",
        ),
        (
            "links = [{channel = 149}]\nemlsr_padding_us = 64",
            "",
            "80211be",
            'emlsr_padding_us counts only with link_mode = "emlsr"; remove it',
        ),
        (
            'links = [{channel = 149}]\nlink_mode = "emlsr"\nemlsr_padding_us = 16',
            "",
            "80211be",
            "emlsr_padding_us: 16 is no padding delay of EMLSR in us; one of 0, 32, 64, 128, 256",
        ),
        (
            'links = [{channel = 149}]\nlink_mode = "emlsr"\nemlsr_transition_us = 8',
            "",
            "80211be",
            "emlsr_transition_us: 8 is no transition delay of EMLSR in us; one of 0, 16, 32",
        ),
    ],
)
def test_what_cannot_be_is_refused(cell: str, radio: str, profile: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        resolved(text(cell, radio, profile))
