# SPDX-License-Identifier: Apache-2.0
"""The server for agents, by the SDK's client in memory: what it offers, what it refuses, and that
no question leads out of its folder."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from hoplab.front.context import server as serving
from hoplab.front.context.place import Limits, Place
from hoplab.front.context.server import server
from hoplab.host.machine import confined
from hoplab.model.resources import DOCS

SCENARIO = """
duration_s = 10
[topology]
kind = "chain"
stations = 3
[[flow]]
source = "n0"
destination = "n2"
"""
SMALL = Limits(virtual_s=20, wall_s=30, stations=10, sweep_runs=4, folder_mb=1, rows=5)


def asked(
    folder: Path, question: Callable[[Client], Awaitable[Any]], limits: Limits = SMALL
) -> Any:
    async def ask() -> Any:
        async with Client(server(Place(folder, limits))) as client:
            return await question(client)

    return anyio.run(ask)


def call(folder: Path, tool: str, limits: Limits = SMALL, **given: Any) -> tuple[bool, str]:
    """Whether a tool failed, and what it said."""
    done = asked(folder, lambda client: client.call_tool(tool, given), limits)
    return bool(done.is_error), "".join(getattr(part, "text", "") for part in done.content)


def test_every_tool_says_what_it_is_for(tmp_path: Path) -> None:
    tools = asked(tmp_path, lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == {
        *("check", "run", "runs", "explain", "compare", "sweep", "tables", "table"),
    }
    assert all(tool.description and "\n\n\n" not in tool.description for tool in tools)
    required = {tool.name: tool.input_schema.get("required", []) for tool in tools}
    assert required["run"] == ["scenario", "name"]


def test_resources_are_keys_tables_and_pages(tmp_path: Path) -> None:
    def text(uri: str) -> str:
        return str(asked(tmp_path, lambda client: client.read_resource(uri)).contents[0].text)

    assert json.loads(text("hoplab://keys"))["title"] == "Hoplab scenario"
    assert "goodput_kbps" in text("hoplab://tables")
    assert "howto/agent.md" in text("hoplab://docs").splitlines()
    assert text("hoplab://docs/howto/agent.md") == (DOCS / "howto/agent.md").read_text()
    assert "[[flow]]" in text("hoplab://docs/examples/hops.toml")


@pytest.mark.parametrize("page", ["../README.md", "%2e%2e/README.md", "/etc/passwd", "x.md", ""])
def test_no_page_is_outside_the_documentation(page: str, tmp_path: Path) -> None:

    async def read(client: Client) -> Any:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"hoplab://docs/{page}")
        return caught.value

    assert "root:" not in str(asked(tmp_path, read))


def test_a_scenario_is_checked_as_text_and_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    for given in (SCENARIO, "a.toml"):
        failed, said = call(tmp_path, "check", scenario=given, set=["topology.stations=4"])
        assert not failed, said
        assert json.loads(said)["stations"] == ["n0", "n1", "n2", "n3"]


@pytest.mark.parametrize(
    ("given", "overrides", "line"),
    [
        (SCENARIO, ["radio.profil=hv99"], "did you mean 'profile'?"),
        (SCENARIO, ["duration_s=21"], "duration_s: 21 with its warm-up, at most 20; take less"),
        (SCENARIO, ["warm_up_s=11"], "at most 20; take less"),
        (SCENARIO, ["topology.stations=11"], "station: 11, at most 10; take fewer"),
        (SCENARIO, ['machine.packages=["curl"]'], "the user's to allow"),
        ("../a.toml", [], "leads out of the folder; name a file in it"),
        ("/etc/passwd", [], "leads out of the folder; name a file in it"),
        ("link.toml", [], "leads out of the folder; name a file in it"),
        ("none.toml", [], "No such file"),
        ("x = 1\n" + "#" * (1 << 20), [], "is larger than 1024 KiB"),
        ("a =\n", [], "scenario-"),
        ("x = '\ud800'\n", [], "scenario-"),
        ('[topology]\nkind = "trace"\nmovement = "/etc/passwd"\n', [], "leads out of the folder"),
        ('[radio]\nsnr_trace = "../x.csv"\n', [], "leads out of the folder"),
        ('[[interferer]]\ntrace = "../x.csv"\n', [], "leads out of the folder"),
        ('[[link]]\na = "n0"\nb = "n1"\ntrace = "../x"\n', [], "leads out of the folder"),
        ('[[link]]\nup = { trace = "/etc/passwd" }\n', [], "leads out of the folder"),
        ('[branch]\nat_s = 1\nset = { "radio.snr_trace" = "../x" }\n', [], "out of the folder"),
        ('[[program]]\nstation = "n0"\nrun = "x"\nfiles = "../x"\n', [], "files"),
        ("topology = 3\n", [], "topology"),
    ],
)
def test_what_may_not_be_is_the_tools_error(
    given: str, overrides: list[str], line: str, tmp_path: Path
) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "a.toml").write_text(SCENARIO)
    (tmp_path / "lab" / "link.toml").symlink_to(tmp_path / "a.toml")
    failed, said = call(tmp_path / "lab", "check", scenario=given, set=overrides)
    assert failed
    assert line in said and "Traceback" not in said


def test_programs_need_a_guest_that_is_confined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f'{SCENARIO}[[program]]\nstation = "n0"\nrun = "true"\n'
    for mode, refused in (("landlock", False), ("none", True)):
        monkeypatch.setattr(confined, "confinement", lambda mode=mode: mode)
        failed, said = call(tmp_path, "check", scenario=program)
        assert failed is refused, said


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "/tmp/x", "x" * 65, ".hidden", "a\nb"])
def test_a_runs_name_is_no_path(name: str, tmp_path: Path) -> None:
    for tool, given in (
        ("run", {"scenario": SCENARIO, "name": name}),
        ("explain", {"run": name}),
        ("sweep", {"scenario": SCENARIO, "name": name, "axes": {}}),
    ):
        failed, said = call(tmp_path, tool, **given)
        assert failed
        assert "is no name; use letters" in said
    assert not (tmp_path / "runs").exists()


def test_a_run_that_leads_out_of_the_folder_is_none(tmp_path: Path) -> None:
    (tmp_path / "lab" / "runs").mkdir(parents=True)
    (tmp_path / "lab" / "runs" / "out").symlink_to(tmp_path)
    failed, said = call(tmp_path / "lab", "tables", run="out")
    assert failed
    assert "leads out of the folder" in said


def test_a_full_folder_takes_no_run(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(1 << 20))
    failed, said = call(tmp_path, "run", scenario=SCENARIO, name="a")
    assert failed
    assert "holds 1 MB, at most 1; ask the user to remove runs" in said


@pytest.mark.parametrize(
    ("axes", "seeds", "line"),
    [
        ({"flow.0.window": [1, 2, 3]}, 2, "6 runs, at most 4"),
        ({"duration_s": [5, 60]}, 1, "duration_s: 60"),
        ({"topology.stations": [3, 50]}, 1, "station: 50"),
        ({"flow.0.windw": [1]}, 1, "window"),
        ({"flow.0.window": [None]}, 1, "expected numbers, texts, true, false"),
        ({"flow.0.window": []}, 1, "axis"),
        ({}, 10**9, "should be less than or equal to"),
        ({}, 5, "5 runs, at most 4"),
    ],
)
def test_a_sweep_is_looked_at_before_it_begins(
    axes: dict[str, Any], seeds: int, line: str, tmp_path: Path
) -> None:
    failed, said = call(tmp_path, "sweep", scenario=SCENARIO, name="s", axes=axes, seeds=seeds)
    assert failed
    assert line in said and "Traceback" not in said


def test_a_call_that_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process too, and the server goes on."""
    monkeypatch.setattr(serving, "GRACE_S", 0.5)
    loop = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    monkeypatch.setattr(serving, "STARTED", [sys.executable, "-c", loop])
    limits = Limits(wall_s=1)
    failed, said = call(tmp_path, "run", limits, scenario=SCENARIO, name="a")
    assert failed
    assert "ended with status -15" in said
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


def test_without_the_sdk_the_command_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['mcp.server.mcpserver'] = None; sys.argv[1:] = ['mcp', 'lab']\n"
        "from hoplab.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "pip install 'hoplab[mcp]'" in done.stderr and "Traceback" not in done.stderr
