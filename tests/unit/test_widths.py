# SPDX-License-Identifier: Apache-2.0
"""Widths of single cells and clients (`cell.width_mhz`, `station.width_mhz`)."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import plan
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve

TWO_CELLS = """
duration_s = 1
[radio]
profile = "80211ac"
channel = 36
mcs = 8
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 5
[[station]]
name = "other"
x_m = 10
[[station]]
name = "n1"
x_m = 15
[[cell]]
access_point = "ap"
clients = ["n0"]
[[cell]]
access_point = "other"
clients = ["n1"]
channel = 44
width_mhz = 20
"""


def document(text: str, out: Path) -> dict[str, Any]:
    scenario = resolve(file.parse(tomllib.loads(text), "widths.toml"))
    (out / "raw").mkdir(exist_ok=True)
    written = config.write(plan(scenario), 0, out, overhear=False)
    found: dict[str, Any] = json.loads(written.read_text())
    return found


def test_the_document_says_how_channels_lie(tmp_path: Path) -> None:
    found = document(TWO_CELLS, tmp_path)
    assert found["params"]["blocks"] == [
        {"primary_mhz": 5180, "low_mhz": 5170, "width_mhz": 80},
        {"primary_mhz": 5220, "low_mhz": 5170, "width_mhz": 20},
    ]
    assert found["params"]["leakage"] is None
    assert [one["width_mhz"] for one in found["stations"]] == [80, 80, 20, 20]


def test_the_document_says_nothing_of_it_where_channels_are_apart(tmp_path: Path) -> None:
    found = document(TWO_CELLS.replace("44\nwidth_mhz = 20", "149"), tmp_path)
    assert "blocks" not in found["params"]
    assert not any("width_mhz" in one for one in found["stations"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"channel = 44\n": ""}, ["cell.1.width_mhz: 20", "cell.0 is on channel 36 too"]),
        ({"width_mhz = 20": "width_mhz = 160"}, ["cell.1.width_mhz: 160", "radio.width_mhz, 80"]),
        ({"mcs = 8": "mcs = 9"}, ["cell.1.width_mhz: 20", "no MCS 9", "radio.mcs = 8"]),
        (
            {"80211ac": "80211a", "mcs = 8\n": ""},
            ["cell.1.width_mhz: 20", 'radio.rules is "802.11"'],
        ),
        ({"x_m = 15": "x_m = 15\nwidth_mhz = 40"}, ["station n1: width_mhz: 40", "cell's, 20"]),
        ({"x_m = 10": "x_m = 10\nwidth_mhz = 20"}, ["station other: width_mhz: 20", "no client"]),
        (
            {"x_m = 5": "x_m = 5\nwidth_mhz = 20", "mcs = 8": 'mcs = 8\nrate_mbps = "auto"'},
            ["station n0: width_mhz: 20", 'radio.rate_mbps is "auto"'],
        ),
    ],
)
def test_what_no_radio_has_is_refused(changes: dict[str, str], words: list[str]) -> None:
    text = TWO_CELLS
    for old, new in changes.items():
        text = text.replace(old, new, 1)
    with pytest.raises(ScenarioError) as error:
        resolve(file.parse(tomllib.loads(text), "widths.toml"))
    for word in words:
        assert word in str(error.value)
