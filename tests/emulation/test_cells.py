# SPDX-License-Identifier: Apache-2.0
"""Access points and their clients: association, keys, traffic by way of the access point."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., dict[str, Any]]
Hoplab = Callable[..., subprocess.CompletedProcess[str]]
CELL = """
duration_s = 5
[radio]
profile = "80211g"
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 30
[[station]]
name = "n1"
x_m = -30
[[cell]]
access_point = "ap"
clients = ["n0", "n1"]
ssid = "home"
"""
TO_THE_POINT = """
[[flow]]
source = "n0"
destination = "ap"
"""
BETWEEN_CLIENTS = """
[[flow]]
source = "n0"
destination = "n1"
"""


def secured(security: str) -> str:
    return CELL + f'security = "{security}"\n'


@pytest.mark.parametrize("security", ["open", "wpa2", "wpa3"])
def test_clients_reach_each_other_by_way_of_the_access_point(
    run_scenario: Run, security: str
) -> None:
    """Each segment between clients is two frames on the air, so the flow has less than half."""
    text = secured(security)
    direct = run_scenario(text + TO_THE_POINT)["flows"][0]["goodput_kbps"]
    relayed = run_scenario(text + BETWEEN_CLIENTS)["flows"][0]["goodput_kbps"]
    assert 0.35 * direct < relayed < 0.5 * direct


def test_a_cell_has_the_same_digest_twice(run_scenario: Run) -> None:
    text = secured("wpa3") + BETWEEN_CLIENTS
    assert run_scenario(text)["digest"] == run_scenario(text)["digest"]
