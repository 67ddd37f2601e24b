# SPDX-License-Identifier: Apache-2.0
"""Other transmitters, and channels of 2.4 GHz that overlap: what the medium knows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.interferers import Interferer
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.network import medium_document
from hoplab.model.network.leakage import Band, leakage_db
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve, resolve_medium
from hoplab.show.live.view import View
from hoplab.show.report import on_map
from tests.scenarios import ONE_HOP, TWO_CELLS, resolved

OVEN = {
    "name": "oven",
    "x_m": 3.0,
    "kind": "microwave",
    "power_dbm": 20.0,
    "low_mhz": 2440.0,
    "high_mhz": 2470.0,
}


def told(
    *interferers: dict[str, Any], channels: tuple[int | None, ...] = (None, None), **radio: Any
) -> dict[str, Any]:
    """The parameters of the medium."""
    stations = [
        {"name": f"n{i}", "mac": f"02:00:00:00:00:0{i}", "channel": channel}
        for i, channel in enumerate(channels)
    ]
    given = {
        "station": stations,
        "records": {"dir": "/r"},
        "radio": {"profile": "80211g", **radio},
        "interferer": interferers,
    }
    medium = resolve_medium(MediumFile.model_validate(given))
    found: dict[str, Any] = medium_document.document(medium, 5)["params"]
    return found


def test_an_oven_is_on_for_half_of_a_period_of_the_mains() -> None:
    (oven,) = told(OVEN)["interferers"]
    assert oven["course"] == {
        "steps": {"points": [[0, 20.0], [10_000_000, None]], "period_ns": 20_000_000}
    }
    assert (oven["begins_ns"], oven["waypoints"]) == (5, [[0, [3.0, 0.0]]])
    (oven,) = told({**OVEN, "mains_hz": 60.0, "duty": 1.0, "stop_s": 2.0})["interferers"]
    assert oven["course"]["steps"]["points"] == [[0, 20.0]]
    assert oven["ends_ns"] == 2_000_000_005


def test_a_channel_gets_what_falls_into_its_filter() -> None:
    """OFDM's receivers pass 18 MHz, DSSS's 22. The oven fills 2440 to 2470 MHz evenly."""

    def db(channel: int, profile: str = "80211g") -> float:
        (oven,) = told(OVEN, profile=profile, channel=channel)["interferers"]
        assert oven["shares"][0]["channel_mhz"] == 2407 + 5 * channel
        return float(oven["shares"][0]["db"])

    assert db(9) == pytest.approx(10 * math.log10(18 / 30))
    assert db(6) == pytest.approx(10 * math.log10((2446 - 2440) / 30))
    assert db(6, "80211b") == pytest.approx(10 * math.log10((2448 - 2440) / 30))
    assert db(1) == -200


def test_hops_whose_middle_is_in_the_filter_are_heard() -> None:
    headset = {"name": "headset", "kind": "bluetooth", "power_dbm": 4.0}
    (found,) = told(headset, channel=1)["interferers"]
    # 2403 to 2421 MHz, of 2402 to 2480.
    assert found["shares"][0]["hops"] == [1, 20]
    assert found["course"]["hops"] == {
        **{"dbm": 4.0, "slot_ns": 625_000, "on_ns": 366_000, "frequencies": 79},
    }


def test_energy_has_a_threshold_of_its_own() -> None:
    found = told(OVEN, carrier_sense_m=200.0)
    assert found["leakage"]["ed_threshold_dbm"] == found["cs_threshold_dbm"] + 20
    assert told(OVEN, ed_threshold_dbm=-60.0)["leakage"]["ed_threshold_dbm"] == -60
    assert told()["leakage"] is None
    # DSSS by the radio's own power: 15 dBm are 32 mW, 24.5 dBm 282 mW (16.3.8.5).
    weak: dict[str, Any] = {"profile": "80211b", "cs_threshold_dbm": -95.0}
    by_power = [
        told(OVEN, tx_power_dbm=dbm, **weak)["leakage"]["ed_threshold_dbm"]
        for dbm in (15.0, 18.0, 24.5)
    ]
    assert by_power == [-70, -76, -80]


def integral_db(
    mask: Callable[[float], float], half_mhz: float, apart_mhz: float, edge_mhz: float
) -> float:
    """The part of a mask that a filter passes, summed in steps of 1 kHz. ``mask`` gives dBr."""
    step = 0.001

    def power(low: float, high: float) -> float:
        count = round((high - low) / step)
        middles = (low + (i + 0.5) * step for i in range(count))
        return sum(10 ** (mask(abs(mhz)) / 10) * step for mhz in middles)

    passed = power(apart_mhz - half_mhz, apart_mhz + half_mhz)
    return 10 * math.log10(passed / power(-edge_mhz, edge_mhz))


def dsss(mhz: float) -> float:
    """IEEE 802.11-2020 16.3.7.5."""
    return 0.0 if mhz < 11 else -30.0 if mhz < 22 else -50.0


def ofdm(mhz: float) -> float:
    """17.3.9.3."""
    points = ((9.0, 0.0), (11.0, -20.0), (20.0, -28.0), (30.0, -40.0))
    for (begin, above), (end, below) in itertools.pairwise(points):
        if begin < mhz < end:
            return above + (below - above) * (mhz - begin) / (end - begin)
    return 0.0 if mhz <= points[0][0] else points[-1][1]


@pytest.mark.parametrize("apart", [5, 10, 15, 20, 25, 30, 35])
def test_overlapping_channels_get_the_integral_of_mask_and_filter(apart: int) -> None:
    sender, receiver = Band(2412, 22), Band(2412 + apart, 22)
    assert leakage_db("802.11b", sender, receiver) == pytest.approx(
        integral_db(dsss, 11, apart, 22), abs=1e-3
    )
    sender, receiver = Band(2412, 20), Band(2412 + apart, 20)
    assert leakage_db("802.11g", sender, receiver) == pytest.approx(
        integral_db(ofdm, 9, apart, 30), abs=1e-3
    )


def test_a_channel_gives_all_to_itself() -> None:
    for standard, width in (("802.11b", 22), ("802.11g", 20), ("802.11ax", 20)):
        found = leakage_db(standard, Band(2437, width), Band(2437, width))
        assert found == pytest.approx(0, abs=0.3)


def test_channels_of_2_4_ghz_leak_to_each_other_however_near() -> None:
    found = told(channels=(1, 2, 6, 11), leakage="mask")["leakage"]
    pairs = {(pair["from_mhz"], pair["to_mhz"]): pair["db"] for pair in found["pairs"]}
    assert (2412, 2462) not in pairs
    assert pairs[2412, 2417] == pairs[2417, 2412] > -2
    assert pairs[2412, 2437] < -25


def cells(profile: str, radio: str) -> str:
    """Two cells on channels that overlap."""
    radio = f'profile = "{profile}"\n{radio}'
    return TWO_CELLS.format(radio=radio, first="channel = 1", second="channel = 3")


def test_channels_may_overlap_where_they_leak() -> None:
    resolved(cells("80211g", 'leakage = "mask"'))
    resolved(cells("80211ax", "channel = 1\nwidth_mhz = 40"))
    with pytest.raises(ScenarioError, match=r'set radio\.leakage = "mask"'):
        resolved(cells("80211g", ""))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('name = "x"\nlow_mhz = 1\nhigh_mhz = 2', "needs power_dbm"),
        ('name = "x"\npower_dbm = 3', "needs low_mhz and high_mhz"),
        ('name = "x"\npower_dbm = 3\nlow_mhz = 2\nhigh_mhz = 2', "is not above low_mhz"),
        ('name = "x"\nkind = "steps"\nlow_mhz = 1\nhigh_mhz = 2', "needs steps"),
        (
            'name = "x"\nkind = "steps"\nlow_mhz = 1\nhigh_mhz = 2\nsteps = [[2, 3], [2, 4]]',
            "put them in order of time",
        ),
        ('name = "n0"\nkind = "bluetooth"\npower_dbm = 3', "interferer.0.name: 'n0' is taken"),
    ],
)
def test_what_is_no_interferer_is_refused(table: str, words: str) -> None:
    with pytest.raises((ScenarioError, ValueError), match=words):
        resolved(f"{ONE_HOP}[[interferer]]\n{table}\n")


TRACED = {
    "name": "saw",
    "kind": "steps",
    "trace": "saw.csv",
    "low_mhz": 2400.0,
    "high_mhz": 2480.0,
}


def traced(folder: Path, text: str, **more: Any) -> Interferer:
    (folder / "saw.csv").write_text(text, encoding="utf-8")
    scenario = parse({"topology": {"kind": "pair"}, "interferer": [{**TRACED, **more}]}, "x.toml")
    (found,) = resolve(scenario, folder).interferer
    return found


def test_steps_come_from_a_file(tmp_path: Path) -> None:
    found = traced(tmp_path, "dbm,t_s,note\n-200,0,off\n20.5,0.25,on\n3,1e1,low\n")
    assert (found.trace, found.steps) == (None, ((0, -200), (0.25, 20.5), (10, 3)))
    columns = {"t_s": [0.0, 0.25, 10.0], "dbm": [-200.0, 20.5, 3.0]}
    pq.write_table(pa.table(columns), tmp_path / "saw.parquet")
    assert traced(tmp_path, "", trace="saw.parquet") == found
    medium = {
        "station": [{"name": "n0", "mac": "02:00:00:00:00:00"}],
        "records": {"dir": "/r"},
        "interferer": [{**TRACED, "trace": "saw.parquet"}],
    }
    assert resolve_medium(MediumFile.model_validate(medium), tmp_path).interferer == (found,)


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("t_s\n1\n", {}, "has no column 'dbm'; expected the columns t_s, dbm"),
        ("t_s,dbm\n", {}, "has no rows"),
        ("t_s,dbm\n0,loud\n", {}, "saw.csv:2: dbm: 'loud'; expected a number"),
        ("t_s,dbm\n0,nan\n", {}, "saw.csv:2: dbm: 'nan'; expected a number"),
        ("t_s,dbm\n0\n", {}, "saw.csv:2: dbm: None; expected a number"),
        ("t_s,dbm\n0,3\n1,5000\n", {}, "saw.csv: row 2: "),
        ("t_s,dbm\n-1,3\n", {}, "saw.csv: row 1: "),
        ("t_s,dbm\n1,3\n1,4\n", {}, "saw.csv: 1 s follows 1 s; put them in order of time"),
        ("t_s,dbm\n" + "0,1\n" * 100_001, {}, "has more than 100000 rows; shorten it"),
        ("", {"trace": "saw.txt"}, "interferer.0.trace: "),
        ("", {"trace": "none.csv"}, "none.csv: cannot be read"),
    ],
)
def test_mistakes_of_a_file_name_it(
    tmp_path: Path, text: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        traced(tmp_path, text, **more)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_and_steps_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="trace gives the same as steps"):
        traced(tmp_path, "t_s,dbm\n0,3\n", steps=[[0, 3]])
    with pytest.raises(ScenarioError, match="trace"):
        traced(tmp_path, "t_s,dbm\n0,3\n", kind="constant", power_dbm=3.0)


def test_a_map_has_the_interferers() -> None:
    trace = on_map.interferers({"oven": (3.0, 4.0)}, {"oven": "microwave"})
    assert (trace["x"], trace["y"], trace["text"]) == ([3], [4], ["oven"])
    assert trace["hovertext"] == ["oven (microwave)"]


def test_the_live_map_moves_them_below_the_stations() -> None:
    table = """[[interferer]]
name = "x"
kind = "bluetooth"
power_dbm = 3
waypoints = [[0, 0, 10], [10, 20, 10]]
"""
    traces = View(resolved(ONE_HOP + table))._moment(5.0)["map"]
    assert (traces[-2]["x"], traces[-2]["hovertext"]) == ([10], ["x (bluetooth)"])
    # The page's script drags the last trace.
    assert len(traces[-1]["x"]) == 2
    assert len(View(resolved(ONE_HOP))._moment(5.0)["map"]) == len(traces) - 1


def test_rules_without_energy_refuse_it() -> None:
    table = '[[interferer]]\nname = "x"\nkind = "bluetooth"\npower_dbm = 3\n'
    with pytest.raises(ScenarioError, match=r'radio\.rules is "ns-2"'):
        resolved(f'{ONE_HOP}[radio]\nprofile = "hv99"\n{table}')
    with pytest.raises(ScenarioError, match="is below the carrier-sense threshold"):
        resolved(f"{ONE_HOP}[radio]\ned_threshold_dbm = -150\n{table}")
