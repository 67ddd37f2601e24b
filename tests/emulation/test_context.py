# SPDX-License-Identifier: Apache-2.0
"""An agent's session: it runs, explains, repairs, compares and sweeps, over standard input and
output of ``hoplab mcp``."""

import json
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from tests.emulation.conftest import HOPLAB

HIDDEN = """
duration_s = 5
[topology]
kind = "hidden"
[radio]
rts_threshold = 2347
carrier_sense_m = 250
[[flow]]
source = "a"
destination = "b"
congestion_control = "newreno"
[[flow]]
source = "c"
destination = "b"
congestion_control = "newreno"
"""


def test_an_agent_finds_hidden_terminals(tmp_path: Path) -> None:
    async def session() -> dict[str, Any]:
        answers: dict[str, Any] = {}
        command = StdioServerParameters(command=str(HOPLAB), args=["mcp", str(tmp_path / "lab")])
        async with Client(command) as client:

            async def ask(tool: str, **given: Any) -> Any:
                done = await client.call_tool(tool, given)
                said = "".join(getattr(part, "text", "") for part in done.content)
                assert not done.is_error, said
                return done.structured_content or json.loads(said)

            answers["first"] = await ask("run", scenario=HIDDEN, name="first")
            answers["why"] = await ask("explain", run="first")
            change = ["radio.rts_threshold=0"]
            answers["second"] = await ask("run", scenario=HIDDEN, name="second", set=change)
            answers["again"] = await ask("run", scenario=HIDDEN, name="again")
            answers["changed"] = await ask("compare", first="first", second="second")
            answers["equal"] = await ask("compare", first="first", second="again")
            where = "src == 'a'"
            answers["rows"] = await ask("table", run="first", table="links", where=where, rows=1)
            axes = {"radio.rts_threshold": [0, 2347]}
            answers["sweep"] = await ask("sweep", scenario=HIDDEN, name="s", axes=axes, seeds=1)
        return answers

    found = anyio.run(session)
    assert found["first"]["digest"] == found["again"]["digest"]
    assert found["equal"]["equal"] is True
    keys = [one["what"] for one in found["changed"]["differences"] if one["about"] == "scenario"]
    assert keys == ["radio.rts_threshold"]
    to_b = [link for link in found["why"]["links_that_lose_frames"] if link["dst"] == "b"]
    assert {link["src"] for link in to_b} == {"a", "c"}
    assert all(link["collided"] > 0.1 for link in to_b)
    assert len(found["rows"]["rows"]) == 1
    assert found["sweep"]["runs"] == 2
