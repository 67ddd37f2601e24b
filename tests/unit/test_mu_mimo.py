# SPDX-License-Identifier: Apache-2.0
"""Stations that an access point serves by streams of their own (`radio.mu_mimo`): the medium's
document, and where that cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import plan
from tests.unit.test_ofdma import CELL, PAIR, resolved

STREAMS = 'mu_mimo = "round-robin"\n'


@pytest.mark.parametrize(
    ("profile", "radio", "expected"),
    [
        ("80211ac", "", {"acknowledgement": "sequential"}),
        ("80211ax", "", {"acknowledgement": "mu-bar"}),
        ("80211be", "", {"acknowledgement": "mu-bar"}),
        ("80211ax", 'mu_mimo_ack = "sequential"\n', {"acknowledgement": "sequential"}),
        (
            "80211ax",
            "mu_mimo_uplink = true\n",
            {"acknowledgement": "mu-bar", "uplink": True},
        ),
        (
            "80211ac",
            "mu_mimo_antennas = 8\nsounding_interval_ms = 12.5\n",
            {
                "acknowledgement": "sequential",
                "mimo": {"antennas": 8, "sounding_ns": 12_500_000},
            },
        ),
    ],
)
def test_the_document_has_antennas_and_acknowledgements(
    tmp_path: Path, profile: str, radio: str, expected: dict[str, Any]
) -> None:
    (tmp_path / "raw").mkdir()
    scenario = resolved(CELL, STREAMS + radio, profile)
    written = config.write(plan(scenario), 0, tmp_path, overhear=False)
    assert json.loads(written.read_text())["params"]["ofdma"] == {
        "scheduler": "round-robin",
        "mimo": {"antennas": 4, "sounding_ns": 100_000_000},
        **expected,
    }


@pytest.mark.parametrize(
    ("profile", "text", "radio", "words"),
    [
        (
            "80211ax",
            PAIR + '[routing]\nprotocol = "hwmp"\n',
            STREAMS,
            ['radio.mu_mimo: "round-robin" is of access points alone', "here is a mesh"],
        ),
        (
            "80211be",
            CELL.replace('"n1"]\n', '"n1"]\nlinks = [{ channel = 149 }]\n'),
            STREAMS,
            ["cell.0.links", 'radio.mu_mimo = "round-robin"'],
        ),
        ("80211ac", PAIR, STREAMS, ["of access points alone", "here is no [[cell]]"]),
        ("80211ac", CELL, STREAMS + "aggregation = false\n", ["radio.mu_mimo", "needs A-MPDUs"]),
        ("80211ac", CELL, STREAMS + "rts_threshold = 500\n", ["radio.rts_threshold: 500"]),
        ("80211ax", CELL, STREAMS + 'ofdma = "airtime"\n', ["radio.ofdma", "remove one"]),
        (
            "80211ax",
            CELL,
            STREAMS + 'rate_mbps = "ideal"\nreception = "error-rate"\n',
            ["divide the power", "radio.mcs"],
        ),
        ("80211ac", CELL, STREAMS + 'rate_mbps = "auto"\n', ["divide the power", "radio.mcs"]),
        (
            "80211ac",
            CELL,
            STREAMS + "streams = 2\nmu_mimo_antennas = 3\n",
            ["radio.mu_mimo_antennas: 3", "have 4 streams"],
        ),
        ("80211ac", CELL, STREAMS + 'mu_mimo_ack = "mu-bar"\n', ["needs triggers", "sequential"]),
        ("80211ac", CELL, STREAMS + "mu_mimo_uplink = true\n", ["needs triggers", "set false"]),
        ("80211ax", CELL, "mu_mimo_antennas = 8\n", ["mu_mimo_antennas counts only where mu_mimo"]),
        ("80211ax", CELL, "sounding_interval_ms = 20\n", ["counts only where mu_mimo is"]),
        ("80211ax", CELL, STREAMS + "sounding_interval_ms = 9\n", ["sounding_interval_ms"]),
        ("80211ax", CELL, STREAMS + "mu_mimo_antennas = 9\n", ["mu_mimo_antennas"]),
        ("80211n", CELL, STREAMS, ["mu_mimo counts only where standard is"]),
    ],
)
def test_streams_that_cannot_be_are_refused(
    profile: str, text: str, radio: str, words: list[str]
) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(text, radio, profile)
    for word in words:
        assert word in str(error.value)
    assert len(str(error.value).splitlines()) == 1
