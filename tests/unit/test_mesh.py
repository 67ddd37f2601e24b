# SPDX-License-Identifier: Apache-2.0
"""What an 802.11s mesh has by default, and what it cannot have."""

import re

import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.network import plan
from tests.scenarios import resolved

MESH = """
[topology]
kind = "chain"
stations = 3
[routing]
protocol = "hwmp"
"""
CELL = """
[[cell]]
access_point = "n0"
clients = ["n1"]
"""
WIRED = """
[[station]]
name = "a"
[[station]]
name = "b"
radio = false
[[link]]
ends = ["a", "b"]
[routing]
protocol = "hwmp"
"""
SPLIT = """
[[flow]]
source = "n0"
destination = "n2"
split = { proxies = ["n1"] }
"""


def test_a_mesh_is_one_network_of_ip() -> None:
    scenario = resolved(MESH)
    assert plan.plan(scenario).prefix == 24
    assert scenario.warm_up_s == 10


def test_a_mesh_has_the_rates_of_ax() -> None:
    text = MESH.replace("[routing]", '[radio]\nprofile = "80211ax"\n[routing]')
    assert resolved(text).radio.standard == "802.11ax"
    with pytest.raises(ScenarioError, match=re.escape("in cells and meshes only")):
        resolved(text.replace("hwmp", "babeld"))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (MESH + CELL, 'use "static" with [[cell]]'),
        (MESH + '[network]\nbuilt_by = "mininet-wifi"\n', 'not "mininet-wifi"'),
        (MESH + SPLIT, 'flow.0.split: the relays of routing.protocol "hwmp"'),
        (WIRED, "needs a radio at every station"),
    ],
)
def test_what_a_mesh_cannot_have_is_refused(text: str, mistake: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(mistake)):
        resolved(text)
