# SPDX-License-Identifier: Apache-2.0
"""Clients that doze: what a scenario may say of them, and what the medium knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import plan
from tests.scenarios import TWO_CELLS, resolved


def cells(first: str, second: str) -> str:
    """Two cells with these lines in their tables."""
    radio = 'profile = "80211g"'
    return TWO_CELLS.format(radio=radio, first=first, second=f"channel = 6\n{second}")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("", "", None),
        ("power_save = true", "", 1),
        ("", "power_save = true\nlisten_interval = 3", 3),
    ],
)
def test_the_medium_is_told_how_clients_listen(
    first: str, second: str, told: int | None, tmp_path: Path
) -> None:
    (tmp_path / "raw").mkdir()
    written = config.write(plan(resolved(cells(first, second))), 0, tmp_path, False)
    saving = json.loads(written.read_text(encoding="utf-8")).get("power_save")
    if told is None:
        assert saving is None
    else:
        assert saving == {
            **{"listen_interval": told, "ahead_ns": 1_000_000, "patience_ns": 20_000_000},
        }


@pytest.mark.parametrize(
    ("profile", "save", "fetch"),
    [
        ("80211g", '"ps-poll"', "ps-poll"),
        ("80211n", '"u-apsd"', "u-apsd"),
        (
            "80211ax",
            '"twt"\ntwt_interval_ms = 512',
            {"twt": {"interval_ns": 512_000_000, "duration_ns": 8_000_000}},
        ),
    ],
)
def test_the_medium_is_told_how_clients_fetch_packets(
    profile: str, save: str, fetch: object, tmp_path: Path
) -> None:
    (tmp_path / "raw").mkdir()
    text = TWO_CELLS.format(radio=f'profile = "{profile}"', first=f"power_save = {save}", second="")
    written = config.write(plan(resolved(text)), 0, tmp_path, False)
    assert json.loads(written.read_text(encoding="utf-8"))["power_save"]["fetch"] == fetch


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("listen_interval = 2", "", "listen_interval counts only with power_save"),
        ("dtim_period = 3", "", "dtim_period counts only with power_save"),
        ("power_save = true\ndtim_period = 6", "", "less than or equal to 5|at most 5"),
        ("twt_interval_ms = 50", "", "twt_interval_ms counts only with power_save; remove it"),
        (
            'power_save = "ps-poll"\ntwt_duration_ms = 5',
            "",
            'twt_duration_ms counts only with power_save = "twt"',
        ),
        ("beacon_offset_ms = 5\npower_save = true", "", "beacon_offset_ms: with power_save"),
        ("beacon_offset_ms = 102.4", "", "less than or equal to 102|at most 102"),
        ('power_save = "apsd"', "", "'apsd' is no power save; one of false, true, ps-poll"),
        ('power_save = "u-apsd"', "", 'cell.0.power_save: "u-apsd" needs .* 802.11n on'),
        ('power_save = "twt"', "", 'cell.0.power_save: "twt" needs .* 802.11ax on'),
        (
            'power_save = "twt"\ntwt_interval_ms = 5',
            "",
            "twt_interval_ms: 5 has no room for . periods of 8 ms; use at least",
        ),
        (
            'power_save = "ps-poll"',
            "power_save = true",
            'cell.1.power_save: true, but another cell with power_save has "ps-poll"',
        ),
        (
            "power_save = true",
            "power_save = true\nlisten_interval = 2",
            "cell.1.listen_interval: 2, but another cell with power_save has 1",
        ),
    ],
)
def test_what_does_not_act_is_refused(first: str, second: str, words: str) -> None:
    with pytest.raises((ScenarioError, ValueError), match=words):
        resolved(cells(first, second))


def test_the_medium_s_daemon_gets_no_short_frames() -> None:
    with pytest.raises(ScenarioError, match=r'"ps-poll" needs the medium in the guest'):
        resolved(cells('power_save = "ps-poll"', "") + '[network]\nmedium = "daemon"\n')


@pytest.mark.parametrize(
    "network",
    [
        "[network]\npower_save = true",
        "[radio]\npower_save = true",
        '[[backbone]]\nstations = ["a", "b"]\npower_save = true',
        '[[backbone]]\nstations = ["a", "b"]\nmode = "ad-hoc"\npower_save = true',
    ],
)
def test_ad_hoc_networks_and_meshes_do_not_doze(network: str) -> None:
    with pytest.raises(ScenarioError, match=r"power_save: only clients of a .* ad hoc .*ATIM"):
        resolved(f"title = 't'\n{network}\n")
