# SPDX-License-Identifier: Apache-2.0
"""What keys of the channel come to in the medium daemon's document."""

from __future__ import annotations

import itertools
import json
import math
import re
import typing
from typing import Any

import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.radio import ProfileName
from hoplab.model.network import medium_document, powers
from hoplab.model.network.medium_document import NEVER_NS
from hoplab.model.resolve.resolve import resolve_medium
from hoplab.model.resources import PROJECT

STATIONS = [
    {"name": "a", "mac": "02:00:00:00:00:01"},
    {"name": "b", "mac": "02:00:00:00:00:0F", "x_m": 100.0},
]
EVERY_LOSS = [
    {"rate": 0.1},
    {"kind": "gilbert-elliott", "p_good_to_bad": 0.1, "p_bad_to_good": 0.2, "src": "a"},
    {"kind": "burst", "rate": 1, "on_s": 0.1, "period_s": 2, "start_s": 3, "takes": "packets"},
    {"kind": "list", "frames": [1, 7], "dst": "b", "takes": None},
]
S = 10**9


def made(**keys: Any) -> dict[str, Any]:
    given = {"station": STATIONS, "records": {"dir": "/r"}, "epoch_ns": 1000, **keys}
    return medium_document.document(resolve_medium(MediumFile.model_validate(given)), 5)


def params(**radio: Any) -> dict[str, Any]:
    return made(radio=radio)["params"]


@pytest.mark.parametrize(
    ("profile", "rx_dbm", "cs_dbm"),
    [
        ("wavelan", -64.37394998565425, -78.07085721854251),
        ("80211g", -65.09532929224564, -71.94378290868978),
        ("80211a", -71.73437841778804, -78.58283203423217),
    ],
)
def test_ranges_become_powers(profile: str, rx_dbm: float, cs_dbm: float) -> None:
    """The engine's own powers at these distances, less a hair (`medium-core`'s `received_dbm`)."""
    found = params(profile=profile)
    assert found["rx_threshold_dbm"] == pytest.approx(rx_dbm, abs=1e-12)
    assert found["cs_threshold_dbm"] == pytest.approx(cs_dbm, abs=1e-12)


@pytest.mark.parametrize("propagation", ["two-ray", "friis", "log-distance"])
def test_powers_are_numbers_at_every_bound(propagation: str) -> None:
    """The channel's keys at their smallest and largest values, in all combinations."""
    lowest, highest = 0.001, 1e6
    of_any = {
        "range_m": (1e-300, highest),
        "frequency_mhz": (lowest, highest),
        "antenna_height_m": (lowest, 1e5),
    }
    of_log_distance = {"reference_m": (lowest, highest), "exponent": (1e-300, 20)}
    ends = of_any | (of_log_distance if propagation == "log-distance" else {})
    for values in itertools.product(*ends.values()):
        keys = dict(zip(ends, values, strict=True))
        radio = {"propagation": propagation, "carrier_sense_m": highest, **keys}
        json.dumps(params(**radio), allow_nan=False)


def test_powers_are_taken_as_they_are() -> None:
    found = params(rx_threshold_dbm=-80, cs_threshold_dbm=-85)
    assert (found["rx_threshold_dbm"], found["cs_threshold_dbm"]) == (-80, -85)


def test_every_profile_is_complete() -> None:
    for profile in typing.get_args(ProfileName):
        found = params(profile=profile)
        optional = {"noise_dbm", "edca", "leakage"}
        assert not [key for key, value in found.items() if value is None and key not in optional]
        assert found["rx_threshold_dbm"] > found["cs_threshold_dbm"]


def test_words_become_the_engine_s() -> None:
    assert params(profile="80211b")["phy"]["standard"] == "dsss"
    assert params(profile="80211g")["phy"]["standard"] == {"ofdm": {"signal_extension": True}}
    assert params(profile="80211a")["phy"]["standard"] == {"ofdm": {"signal_extension": False}}
    assert params(profile="80211ac")["phy"]["standard"] == {"vht": {"signal_extension": False}}
    ax = params(profile="80211ax")
    assert ax["phy"]["standard"] == {"he": {"signal_extension": False}}
    assert ax["edca"]["aggregation"]["window"] == 256
    at_2_ghz = params(profile="80211ax", channel=6)["phy"]
    assert at_2_ghz["standard"] == {"he": {"signal_extension": True}}
    assert at_2_ghz["sifs_ns"] == 10_000
    at_2_ghz = params(profile="80211n", channel=6)["phy"]["standard"]
    assert at_2_ghz == {"ht": {"signal_extension": True}}
    assert params(profile="ns2-stock")["rules"] == "ns2"
    assert params(profile="ns2-wavelan")["rules"] == "ns2"
    assert params(fading="rayleigh")["fading"] == {"nakagami": {"m": 1.0}}
    assert params(fading="nakagami", nakagami_m=3)["fading"] == {"nakagami": {"m": 3}}
    model = params(propagation="log-distance", exponent=3.3)["propagation"]["model"]
    assert model == {"log-distance": {"exponent": 3.3, "reference_m": 1.0}}
    assert params(preamble="short")["phy"]["short_preamble"] is True
    assert params(slot_us=9.1234)["phy"]["slot_ns"] == 9123
    assert params(mac="csma-ca-noack")["no_ack"]


def test_a_radio_may_have_categories_of_its_own() -> None:
    own = {"edca": {"video": {"aifsn": 4, "txop_us": 64}}}
    stations = [STATIONS[0], STATIONS[1] | own]
    first, second = made(radio={"profile": "80211n"}, station=stations)["stations"]
    assert first["categories"] is None
    assert second["categories"][1] == {"aifsn": 4, "cw_min": 7, "cw_max": 15, "txop_ns": 64_000}
    with pytest.raises(
        ScenarioError, match=r'^station\.1\.edca: is given, but radio\.rules is "802'
    ):
        made(station=stations)


def test_log_distance_falls_by_its_exponent() -> None:
    """30 dB below 1 m at 3.3 a decade: 2 m further."""
    given = {"radio": {"propagation": "log-distance", "exponent": 3.3}}
    radio = resolve_medium(
        MediumFile.model_validate({"station": STATIONS, "records": {"dir": "/"}, **given})
    ).radio
    loss_db = powers.received_dbm(radio, 2) - powers.received_dbm(radio, 20)
    assert loss_db == pytest.approx(33, abs=1e-9)


def test_noise_counts_where_it_is_given_or_bits_are() -> None:
    assert params()["noise_dbm"] is None
    assert params(noise_dbm=-90)["noise_dbm"] == -90
    # -113.975 dBm/MHz over 22 MHz and 7 dB: the figure of ns-3's validation.
    assert params(reception="error-rate")["noise_dbm"] == pytest.approx(-93.5507, abs=1e-3)


@pytest.mark.parametrize(("channel", "mhz"), [(1, 2412), (13, 2472), (14, 2484), (36, 5180)])
def test_centres_of_channels(channel: int, mhz: int) -> None:
    assert made(radio={"channel": channel})["channel_mhz"] == mhz


def test_signals_take_their_way_by_the_newer_rules_only() -> None:
    def delay(**radio: Any) -> bool:
        return bool(made(radio=radio)["params"]["delay"])

    assert all(delay(profile=name) for name in ("80211n", "80211ac", "80211ax"))
    assert not delay(profile="80211n", propagation_delay=False)
    assert not any(delay(profile=name) for name in ("wavelan", "hv99", "80211a"))


def test_a_card_s_power_is_under_what_is_given() -> None:
    energy = {"preset": "lucent-silver", "idle_w": 0.5, "battery_j": 100}
    assert params(energy=energy)["energy"] == {
        "tx_w": 1.346,
        "rx_w": 0.901,
        "idle_w": 0.5,
        "sleep_w": 0.047,
        "battery_j": 100,
    }


def test_a_station_may_have_a_card_of_its_own() -> None:
    own = {**STATIONS[1], "nic": {"tx_load_us": 200, "tx_load_mbps": 16}}
    found = made(station=[STATIONS[0], own], radio={"nic": {"tx_ring": 7}})
    assert found["params"]["nic"]["tx_ring"] == 7
    assert found["stations"][0]["nic"] is None
    assert found["stations"][1]["nic"]["load"] == {"frame_us": 200, "mbps": 16}


def test_losses_are_rules() -> None:
    found = made(loss=[{k: v for k, v in loss.items() if v is not None} for loss in EVERY_LOSS])
    uniform, gilbert, burst, counted = found["losses"]
    assert uniform["model"] == {"uniform": {"rate": 0.1}}
    assert uniform["active_ns"] == {"start": 1000, "end": NEVER_NS}
    assert gilbert["src"] == 0 and gilbert["dst"] is None
    assert gilbert["model"]["gilbert-elliott"] == {
        "to_bad": 0.1,
        "to_good": 0.2,
        "good": 0,
        "bad": 1,
    }
    times = {"on_ns": S // 10, "period_ns": 2 * S, "start_ns": 1000 + 3 * S}
    assert burst["model"] == {"burst": {"rate": 1, **times}}
    assert burst["takes"] == "packets"
    assert counted["dst"] == 1 and list(counted["model"]["list"]["frames"]) == [1, 7]


def test_a_loss_event_lasts_until_the_next_of_its_link() -> None:
    ends = {"kind": "loss", "src": "a", "dst": "b"}
    other = {"kind": "loss", "src": "b", "dst": "a", "at_s": 3, "rate": 0.25}
    events = [{**ends, "at_s": 4, "rate": 0.0}, {**ends, "at_s": 2, "rate": 0.5}, other]
    rules = made(event=events)["losses"]
    active = [(rule["active_ns"]["start"], rule["active_ns"]["end"]) for rule in rules]
    assert active == [
        (1000 + 2 * S, 1000 + 4 * S),
        (1000 + 3 * S, NEVER_NS),
        (1000 + 4 * S, NEVER_NS),
    ]


def test_events_are_power_and_places() -> None:
    events = [
        {"at_s": 6, "kind": "up", "station": "a"},
        {"at_s": 5, "kind": "down", "station": "a"},
        {"at_s": 3, "kind": "move", "station": "b", "x_m": 7, "y_m": 8},
    ]
    first, second = made(event=events)["stations"]
    assert first["power"] == [
        {"at_ns": 1000 + 5 * S, "up": False},
        {"at_ns": 1000 + 6 * S, "up": True},
    ]
    assert first["mac"] == [2, 0, 0, 0, 0, 1]
    jump = 1000 + 3 * S
    assert second["waypoints"] == [[0, [100, 0]], [jump, [100, 0]], [jump, [7, 8]]]


def test_a_move_interrupts_a_walk() -> None:
    walk = {**STATIONS[1], "waypoints": [[0, 100, 0], [10, 200, 0]]}
    move = {"at_s": 4, "kind": "move", "station": "b", "x_m": 0, "y_m": 50}
    _, found = made(station=[STATIONS[0], walk], event=[move], epoch_ns=0)["stations"]
    assert found["waypoints"] == [[0, [100, 0]], [4 * S, [140, 0]], [4 * S, [0, 50]]]


def test_times_count_from_the_start_where_no_epoch_is_given() -> None:
    found = made(epoch_ns=None, duration_s=2.5)
    assert (found["epoch_ns"], found["end_ns"]) == (5, 5 + 2 * S + S // 2)


@pytest.mark.parametrize(
    ("keys", "mistake"),
    [
        ({"radio": {"cw_min": 30}}, "radio.cw_min: 30 is not 2^n - 1"),
        ({"radio": {"carrier_sense_m": 100}}, "carrier sense ends at 100 m"),
        ({"radio": {"profile": "80211n", "width_mhz": 80}}, "802.11n has 20 and 40 MHz"),
        (
            {"radio": {"profile": "80211n", "rate_mbps": 54}},
            "radio.rate_mbps: 54.0, but radio.standard is '802.11n'; set mcs",
        ),
        (
            {"radio": {"profile": "80211ac", "width_mhz": 160, "rate_mbps": "auto"}},
            "radio.rate_mbps: auto, but radio.standard is '802.11ac' on 160 MHz",
        ),
        (
            {"radio": {"profile": "80211ax", "rate_mbps": "ideal"}},
            "by reception 'threshold' every rate arrives as far",
        ),
        (
            {"radio": {"profile": "80211n", "rate_mbps": "ideal"}},
            'whose rates the kernel\'s minstrel knows; use "auto"',
        ),
        (
            {"radio": {"profile": "80211g", "rate_mbps": "ideal"}},
            "radio.rate_mbps: ideal, but radio.standard is '802.11g'",
        ),
        (
            {"radio": {"profile": "80211ax", "rate_mbps": "auto"}},
            "whose rates the kernel's minstrel does not know",
        ),
        ({"radio": {"range_m": 9, "rx_threshold_dbm": -70}}, "give the same"),
        ({"station": [STATIONS[0]] * 2}, "'a' is given twice"),
        ({"loss": [{"rate": 0.1, "src": "z"}]}, "loss.0.src: no station 'z'"),
        ({"event": [{"at_s": 1, "kind": "down", "station": "z"}]}, "event.0.station: no station"),
    ],
)
def test_contradictions_are_refused(keys: dict[str, Any], mistake: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(mistake)):
        made(**keys)


def test_the_daemon_s_tests_read_what_is_written() -> None:
    """The daemon's own tests have a document made here, with the same tables and keys."""
    path = PROJECT / "daemons" / "medium" / "tests" / "document.json"
    read = json.loads(path.read_text(encoding="utf-8"))
    here = made(radio={"profile": "80211g", "fading": "rayleigh", "reception": "error-rate"})
    assert read.keys() == here.keys()
    assert read["params"] == here["params"]
    assert read["noise_dbm"] == here["noise_dbm"] and math.isfinite(read["noise_dbm"])
