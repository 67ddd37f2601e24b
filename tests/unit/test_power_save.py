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
    ("first", "second", "words"),
    [
        ("listen_interval = 2", "", "listen_interval counts only with power_save = true"),
        ("dtim_period = 3", "", "dtim_period counts only with power_save = true"),
        ("power_save = true\ndtim_period = 6", "", "less than or equal to 5|at most 5"),
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
