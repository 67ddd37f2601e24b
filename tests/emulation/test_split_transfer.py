# SPDX-License-Identifier: Apache-2.0
"""Split-TCP through the kernel while its proxies die: what arrives is what was sent."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from tests.emulation.conftest import in_guest

CHAIN = """
duration_s = 600
[topology]
kind = "chain"
stations = {stations}
[radio]
profile = "80211b"
range_m = 250
carrier_sense_m = 550
[routing]
protocol = "{protocol}"
[split]
proxies = [{proxies}]
[[flow]]
source = "n0"
destination = "n{last}"
mss = 1440
"""


def transfer(
    folder: Path,
    protocol: str,
    hops: int,
    proxies: tuple[int, ...],
    size: int,
    every_s: float = 3,
    away_s: float = 1,
    limit_s: float = 600,
) -> dict[str, Any]:
    """``size`` bytes over ``hops`` with all proxies killed every 3 s, away for 1 s each time."""
    text = CHAIN.format(
        stations=hops + 1,
        last=hops,
        protocol=protocol,
        proxies=", ".join(f'"n{number}"' for number in proxies),
    )
    scenario = resolve(parse(tomllib.loads(text), "scenario"))
    (folder / "scenario.json").write_text(scenario.model_dump_json(exclude_none=True))
    settings = map(str, (folder, size, every_s, away_s, limit_s))
    return in_guest(folder, "split_transfer.py", *settings)


def arrived_whole(found: dict[str, Any], size: int) -> None:
    assert found["kills"] > 0, found
    assert found["bytes"] == size, found
    assert found["received"] == found["sent"], found
    assert found["ahead_bytes"] <= 0, found


@pytest.mark.parametrize("protocol", ["static", "dsr"])
def test_a_file_arrives_whole_though_its_proxies_die(tmp_path: Path, protocol: str) -> None:
    size = 1_000_000
    arrived_whole(transfer(tmp_path, protocol, 4, (1, 2, 3), size), size)
