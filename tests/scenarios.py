# SPDX-License-Identifier: Apache-2.0
"""Scenario texts that many tests begin with: a topology and a flow, which is the last table.

Keys of the scenario go before, keys of the flow and further tables after. And what becomes of texts
and of radios before a run.
"""

import tomllib
from typing import Any

from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network import medium_document
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve, resolve_medium

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


TWO_CELLS = (
    "[radio]\n{radio}\n"
    + "".join(f'[[station]]\nname = "{name}"\n' for name in "abcd")
    + '[[cell]]\naccess_point = "a"\nclients = ["b"]\n{first}\n'
    + '[[cell]]\naccess_point = "c"\nclients = ["d"]\n{second}\n'
)


def resolved(text: str) -> Resolved:
    """The whole scenario of a text."""
    return resolve(file.parse(tomllib.loads(text), "scenario.toml"))


def of_a_run(text: str = ONE_HOP) -> dict[str, Any]:
    """The `scenario.json` of a run."""
    return resolved(text).model_dump(mode="json", exclude_none=True)


def document(*channels: int | None, **radio: Any) -> dict[str, Any]:
    """The medium's document of radios on these channels, by these keys of [radio]."""
    stations = [
        {"name": f"n{i}", "mac": f"02:00:00:00:00:0{i}", "channel": channel}
        for i, channel in enumerate(channels)
    ]
    given = {"station": stations, "records": {"dir": "/r"}, "radio": radio}
    return medium_document.document(resolve_medium(MediumFile.model_validate(given)), 5)
