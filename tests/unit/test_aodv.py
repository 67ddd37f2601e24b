# SPDX-License-Identifier: Apache-2.0
"""AODV's settings: the constants that RFC 3561 §10 computes from others, and the document."""

from typing import Any

import pytest

from hoplab.model.keys import documents
from hoplab.model.keys.aodv import AodvFile, AodvSettings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {},
            {
                "net_traversal_time_s": 2.8,
                "path_discovery_time_s": 5.6,
                "blacklist_timeout_s": 5.6,
                "delete_period_s": 15.0,
                "max_repair_ttl": 10,
                "my_route_timeout_s": 6.0,
                "next_hop_wait_s": 0.05,
            },
        ),
        (
            {"net_diameter": 10, "node_traversal_time_s": 0.1, "rreq_retries": 5},
            {
                "net_traversal_time_s": 2.0,
                "path_discovery_time_s": 4.0,
                "blacklist_timeout_s": 10.0,
                "max_repair_ttl": 3,
                "next_hop_wait_s": 0.11,
            },
        ),
        ({"hello_interval_s": 4.0}, {"delete_period_s": 20.0}),
        (
            {"net_traversal_time_s": 1.0, "blacklist_timeout_s": 0.0},
            {"path_discovery_time_s": 2.0, "blacklist_timeout_s": 0.0},
        ),
    ],
)
def test_constants_follow_from_others(given: dict[str, Any], expected: dict[str, float]) -> None:
    completed = AodvSettings(**given).completed()
    for name, value in expected.items():
        assert getattr(completed, name) == pytest.approx(value), name


def test_the_document_has_final_values_alone() -> None:
    made = AodvFile(interface="wlan0", address="10.0.0.1/24", duration_s=5.0).document()
    assert (made["address"], made["prefix"], made["end_ns"]) == ("10.0.0.1", 24, 5_000_000_000)
    assert made["settings"]["net_traversal_time_ns"] == 2_800_000_000
    assert None not in made["settings"].values()


def test_the_core_is_tested_with_the_defaults() -> None:
    assert documents.final(AodvSettings().completed())["ttl_start"] == 1
