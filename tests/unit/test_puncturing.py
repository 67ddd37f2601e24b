# SPDX-License-Identifier: Apache-2.0
"""Punctured subchannels of 802.11be: the medium's document, and which ones are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.network import medium_document
from hoplab.model.network.plan import plan
from hoplab.model.network.puncturing import patterns, remaining_mhz
from hoplab.model.resolve.resolve import resolve_medium
from tests.scenarios import TWO_CELLS, resolved

AT_6_GHZ = 'profile = "80211be"\nband_ghz = 6\nwidth_mhz = 320'


def text(first: str, second: str = "channel = 149", radio: str = 'profile = "80211be"') -> str:
    return TWO_CELLS.format(radio=radio, first=first, second=second)


def document(out: Path, *cells: str, radio: str = 'profile = "80211be"') -> dict[str, Any]:
    (out / "raw").mkdir()
    written = config.write(plan(resolved(text(*cells, radio=radio))), 0, out, overhear=False)
    found: dict[str, Any] = json.loads(written.read_text())
    return found


def test_patterns_are_those_of_the_kernel() -> None:
    """cfg80211_valid_disable_subchannel_bitmap has the same numbers of them."""
    assert [len(patterns(width)) for width in (20, 40, 80, 160, 320)] == [0, 0, 4, 12, 24]
    assert patterns(80) == {1, 2, 4, 8}
    assert {0x30, 0x80} < patterns(160)
    assert {0xC000, 0xF00, 0xF00C, 0xC00F} < patterns(320)
    assert not {0x18, 0xF0} & patterns(160)
    assert not {1, 0x3C, 0xF03, 0xFF00} & patterns(320)


def test_what_is_left_of_a_channel_are_its_other_subchannels() -> None:
    assert remaining_mhz(5170, 5250, 0) == [(5170, 5250)]
    assert remaining_mhz(5170, 5250, 0x6) == [(5170, 5190), (5230, 5250)]


def test_the_document_says_what_is_left_out(tmp_path: Path) -> None:
    found = document(tmp_path, "punct_bitmap = 0x8", "channel = 48\nwidth_mhz = 20")
    assert found["params"]["blocks"] == [
        {"primary_mhz": 5180, "low_mhz": 5170, "width_mhz": 80, "punctured": 8},
        {"primary_mhz": 5240, "low_mhz": 5170, "width_mhz": 20},
    ]


def test_no_bitmap_and_an_empty_one_are_the_same(tmp_path: Path) -> None:
    for name, cell in (("none", "channel = 36"), ("empty", "punct_bitmap = 0")):
        (tmp_path / name).mkdir()
        assert "blocks" not in document(tmp_path / name, cell)["params"]


def test_each_link_has_its_own(tmp_path: Path) -> None:
    links = (
        'security = "wpa3"\npunct_bitmap = 0x2\n'
        "links = [{channel = 37, band_ghz = 6, punct_bitmap = 0x4}]"
    )
    found = document(tmp_path, links)
    assert found["params"]["blocks"] == [
        {"primary_mhz": 5180, "low_mhz": 5170, "width_mhz": 80, "punctured": 2},
        {"primary_mhz": 5745, "low_mhz": 5735, "width_mhz": 80},
        {"primary_mhz": 6135, "low_mhz": 5945, "width_mhz": 80, "punctured": 4},
    ]


def test_another_transmitter_is_not_heard_on_what_is_left_out(tmp_path: Path) -> None:
    """It fills channels 44 and 48, and the cell punctures one of them, then the other is heard."""
    radar = (
        '[[interferer]]\nname = "radar"\nx_m = 3\nkind = "constant"\npower_dbm = 10\n'
        "low_mhz = {}\nhigh_mhz = 5250\n"
    )

    def heard(low_mhz: int, bitmap: int) -> float:
        whole = text(f"punct_bitmap = {bitmap}") + radar.format(low_mhz)
        out = tmp_path / f"{low_mhz}-{bitmap}"
        (out / "raw").mkdir(parents=True)
        written = config.write(plan(resolved(whole)), 0, out, overhear=False)
        (one,) = json.loads(written.read_text())["params"]["interferers"]
        return float(one["shares"][0]["db"])

    # The filter ends 0.5 MHz before the channel.
    assert heard(5230, 0) == pytest.approx(10 * math.log10(19.5 / 20))
    assert heard(5230, 8) == -200
    assert heard(5210, 8) == pytest.approx(10 * math.log10(20 / 40))


def test_the_mediums_file_has_the_key_for_each_radio() -> None:
    stations = [
        {"name": name, "mac": f"02:00:00:00:00:0{i}", "punct_bitmap": 8}
        for i, name in enumerate("ab")
    ]
    given = {"station": stations, "records": {"dir": "/r"}, "radio": {"profile": "80211be"}}
    found = medium_document.document(resolve_medium(MediumFile.model_validate(given)), 0)
    assert found["params"]["blocks"][0]["punctured"] == 8
    stations[1]["punct_bitmap"] = 4
    with pytest.raises(ScenarioError, match=r"station\.1\.punct_bitmap: 0x4, but station\.0 is on"):
        resolve_medium(MediumFile.model_validate(given))


@pytest.mark.parametrize(
    ("cell", "radio", "words"),
    [
        ("punct_bitmap = 8", 'profile = "80211ax"', r"0x8: puncturing is 802\.11be's, .* use"),
        ("punct_bitmap = 0x6", "", r"0x6: of 80 MHz may be punctured one of 20 MHz;"),
        ("punct_bitmap = 0x10", "", r"0x10: of 80 MHz may be punctured"),
        ("punct_bitmap = 1", "", "0x1: has bit 0, which is channel 36, the primary one"),
        ("channel = 44\npunct_bitmap = 4", "", "has bit 2, which is channel 44"),
        ("width_mhz = 40\npunct_bitmap = 2", "", "needs a channel of 80, 160 or 320 MHz"),
        ("punct_bitmap = 65536", "", "punct_bitmap: 65536"),
        ("punct_bitmap = -1", "", "punct_bitmap: -1"),
        ("punct_bitmap = 8", 'rules = "802.11"', 'radio.rules = "802.11"'),
        ("punct_bitmap = 8", 'mu_mimo = "round-robin"', "does not go with radio.mu_mimo"),
        (
            'security = "wpa3"\npunct_bitmap = 0xf03',
            AT_6_GHZ,
            "of 320 MHz may be punctured one of 40 or 80 MHz, or 80 MHz at an end",
        ),
        (
            "links = [{channel = 149, punct_bitmap = 3}]",
            "",
            r"cell\.0\.links\.0\.punct_bitmap: 0x3",
        ),
    ],
)
def test_what_no_ppdu_leaves_out_is_refused(cell: str, radio: str, words: str) -> None:
    radio = radio if "profile" in radio else f'profile = "80211be"\n{radio}'
    second = 'channel = 149\nsecurity = "wpa3"' if "band_ghz" in radio else "channel = 161"
    with pytest.raises(ScenarioError, match=words):
        resolved(text(cell, second, radio))


def test_networks_on_one_channel_leave_out_the_same() -> None:
    resolved(text("punct_bitmap = 8", "channel = 36\npunct_bitmap = 8"))
    with pytest.raises(ScenarioError, match=r"cell\.1\.punct_bitmap: 0x0, but cell\.0 is on"):
        resolved(text("punct_bitmap = 8", "channel = 36"))


def test_a_mesh_leaves_out_subchannels_too() -> None:
    mesh = '[[backbone]]\nstations = ["a", "c"]\nchannel = 149\npunct_bitmap = {}\n'
    resolved(text("channel = 36", "channel = 36") + mesh.format("0x4"))
    with pytest.raises(ScenarioError, match=r"backbone\.0\.punct_bitmap: 0x1"):
        resolved(text("channel = 36", "channel = 36") + mesh.format("0x1"))
