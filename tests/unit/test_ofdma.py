# SPDX-License-Identifier: Apache-2.0
"""Stations that an access point serves together (`radio.ofdma`): the medium's document, and where
that cannot be."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.plan import plan
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve

CELL = """
[[cell]]
access_point = "ap"
clients = ["n0", "n1"]
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 5
[[station]]
name = "n1"
x_m = 6
"""
PAIR = '[topology]\nkind = "pair"\nspacing_m = 10\n'
TOGETHER = 'ofdma = "airtime"\n'


def resolved(text: str, radio: str = TOGETHER, profile: str = "80211ax") -> Resolved:
    radio = f'[radio]\nprofile = "{profile}"\n{radio}'
    return resolve(file.parse(tomllib.loads(text + radio), "ofdma.toml"))


@pytest.mark.parametrize(
    ("radio", "expected"),
    [
        ("", None),
        (TOGETHER, {"scheduler": "airtime", "acknowledgement": "mu-bar"}),
        (
            'ofdma = "round-robin"\nofdma_ack = "sequential"\n',
            {"scheduler": "round-robin", "acknowledgement": "sequential"},
        ),
        (
            TOGETHER + "ofdma_uplink = true\n",
            {"scheduler": "airtime", "acknowledgement": "mu-bar", "uplink": True},
        ),
        (
            TOGETHER + "ofdma_uplink = true\nofdma_bsrp_ms = 2.5\n",
            {
                "scheduler": "airtime",
                "acknowledgement": "mu-bar",
                "uplink": True,
                "bsrp_ns": 2_500_000,
            },
        ),
    ],
)
def test_the_document_names_it_only_where_it_is_asked_for(
    tmp_path: Path, radio: str, expected: dict[str, Any] | None
) -> None:
    """So documents of before stay what they were."""
    (tmp_path / "raw").mkdir()
    written = config.write(plan(resolved(CELL, radio)), 0, tmp_path, overhear=False)
    assert json.loads(written.read_text())["params"].get("ofdma") == expected


@pytest.mark.parametrize(
    ("text", "radio", "words"),
    [
        (
            PAIR + '[routing]\nprotocol = "hwmp"\n',
            TOGETHER,
            ['radio.ofdma: "airtime" is of access points alone', "here is a mesh"],
        ),
        (CELL, TOGETHER + "aggregation = false\n", ["needs A-MPDUs", "aggregation = true"]),
        (CELL, TOGETHER + "rts_threshold = 500\n", ["radio.rts_threshold: 500", "set 2347"]),
        (CELL, 'ofdma_ack = "sequential"\n', ["ofdma_ack counts only where ofdma is"]),
        (CELL, "ofdma_uplink = true\n", ["ofdma_uplink counts only where ofdma is"]),
        (CELL, "ofdma_bsrp_ms = 5\n", ["ofdma_bsrp_ms counts only where ofdma is"]),
        (CELL, TOGETHER + "ofdma_bsrp_ms = 5\n", ["ofdma_bsrp_ms: 5", "set ofdma_uplink = true"]),
        (CELL, TOGETHER + "ofdma_uplink = true\nofdma_bsrp_ms = -1\n", ["ofdma_bsrp_ms", "-1"]),
        (CELL, TOGETHER + "ofdma_uplink = true\nofdma_bsrp_ms = nan\n", ["ofdma_bsrp_ms"]),
        (CELL, 'ofdma = "fastest"\n', ["radio.ofdma", "round-robin"]),
    ],
)
def test_what_cannot_be_served_together_is_refused(text: str, radio: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(text, radio)
    for word in words:
        assert word in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_stations_before_802_11ax_are_not_served_together() -> None:
    with pytest.raises(ScenarioError, match="ofdma counts only where standard is"):
        resolved(CELL, profile="80211ac")


def test_stations_of_802_11be_are_served_together_on_one_link() -> None:
    assert resolved(CELL, profile="80211be").radio.ofdma == "airtime"
    links = CELL.replace("[[cell]]", "[[cell]]\nlinks = [{ channel = 149 }]")
    with pytest.raises(
        ScenarioError, match=r'cell.0.links: do not go with radio.ofdma = "airtime"'
    ):
        resolved(links, profile="80211be")
