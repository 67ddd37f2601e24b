# SPDX-License-Identifier: Apache-2.0
"""What Mininet-WiFi's radios can do."""

from __future__ import annotations

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import LAST_2_GHZ_CHANNEL
from hoplab.model.keys.resolved import Resolved

MODES = {"802.11": "b", "802.11b": "b", "802.11g": "g"}
"""Mininet-WiFi's names of standards at 2.4 GHz."""


def check(scenario: Resolved) -> None:
    """Raise `ScenarioError` for what its radios cannot do."""
    channel = scenario.radio.channel
    if channel > LAST_2_GHZ_CHANNEL:
        raise ScenarioError(
            f"radio.channel: {channel}, but Mininet-WiFi's radios here send at 2.4 GHz only; use a "
            'channel up to 14, or network.built_by = "hoplab"'
        )
    if scenario.radio.standard not in MODES:
        raise ScenarioError(
            f'radio.standard: "{scenario.radio.standard}", but Mininet-WiFi\'s radios here are of '
            f'{", ".join(MODES)}; use one of these, or network.built_by = "hoplab"'
        )
