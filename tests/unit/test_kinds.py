# SPDX-License-Identifier: Apache-2.0
"""What each kind of machine requires before a run begins."""

from pathlib import Path

import pytest

from hoplab.host.runs import kinds
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

SCENARIO = {
    "topology": {"kind": "dumbbell"},
    "flow": [
        {"source": "n1", "destination": "n4", "protocol": "udp", "rate_kbps": 10},
        {
            "source": "n1",
            "destination": "n4",
            "protocol": "udp",
            "rate_kbps": 10,
            "buffer_bytes": 200_000,
        },
    ],
}


@pytest.mark.parametrize(("most", "runs"), [(200_000, True), (199_999, False)])
def test_a_host_whose_sockets_hold_less_is_named_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, runs: bool
) -> None:
    limit = tmp_path / "wmem_max"
    limit.write_text(f"{most}\n")
    monkeypatch.setattr(kinds, "WMEM_MAX", limit)
    scenario = resolve(parse(SCENARIO, "test"))
    if runs:
        kinds.ThisHost().require(scenario)
    else:
        with pytest.raises(ScenarioError, match=r"flow1: buffer_bytes: 200000 .* 199999; raise"):
            kinds.ThisHost().require(scenario)
