# SPDX-License-Identifier: Apache-2.0
"""Scenario texts that many tests begin with: a topology and a flow, which is the last table.

Keys of the scenario go before, keys of the flow and further tables after. And what becomes of texts
and of radios before a run.
"""

import tomllib
from typing import Any

from hoplab.model.scenario import file, medium_document
from hoplab.model.scenario.medium_file import MediumFile
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.resolve import resolve, resolve_medium

ONE_HOP = """[topology]
kind = "pair"
[[flow]]
source = "n0"
destination = "n1"
"""
TWO_HOPS = """[topology]
kind = "chain"
stations = 3
[[flow]]
source = "n0"
destination = "n2"
"""


def resolved(text: str) -> Scenario:
    """The whole scenario of a text."""
    return resolve(file.parse(tomllib.loads(text), "scenario.toml"))


def document(*channels: int | None, **radio: Any) -> dict[str, Any]:
    """The medium's document of radios on these channels, by these keys of [radio]."""
    stations = [
        {"name": f"n{i}", "mac": f"02:00:00:00:00:0{i}", "channel": channel}
        for i, channel in enumerate(channels)
    ]
    given = {"station": stations, "records": {"dir": "/r"}, "radio": radio}
    return medium_document.document(resolve_medium(MediumFile.model_validate(given)), 5)
