# SPDX-License-Identifier: Apache-2.0
"""Options, folders and surroundings that a command cannot use: one line each."""

import os
import stat
import subprocess
import sys
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from hoplab.front import api
from hoplab.front.commands.cli import app
from hoplab.front.testing import guest, outside, plugin
from hoplab.host.machine import private
from hoplab.host.runs import folder
from hoplab.many.sweep import cluster, dasked
from hoplab.model.errors import MissingTool, ResultsError, ScenarioError
from hoplab.model.keys.scenario import Radio
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import radio_with_profile
from hoplab.show.live import shown


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_wall_limit_is_a_time(limit: str) -> None:
    with pytest.raises(ScenarioError, match=r"--wall-limit: .* is no time"):
        CliRunner().invoke(app, ["run", "x.toml", "--wall-limit", limit], catch_exceptions=False)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_so_it_is_for_a_program(limit: float, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"wall_limit_s: .* is no time"):
        api.run({"topology": {"kind": "pair"}}, out=tmp_path / "out", wall_limit_s=limit)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)  # root may enter every folder
    with pytest.raises(ResultsError, match="cannot be written: Permission denied; choose another"):
        folder.made(tmp_path / "closed" / "out", None)


def test_a_relative_runtime_folder_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "_candidates", lambda: iter([Path("relative/hoplab")]))
    with pytest.raises(MissingTool, match="is relative; expected the whole path"):
        private.folder()


def test_too_little_memory_is_told_before_anything_is_loaded() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_DATA, (60 << 20, 60 << 20));"
        "from hoplab.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "ulimit -d allows 60 MiB; expected 512" in done.stderr


@pytest.mark.parametrize("raised", ["MemoryError()", "RuntimeError('Nanny failed to start.')"])
def test_a_failure_where_memory_is_scarce_is_told_as_that(raised: str) -> None:
    """Libraries make other errors of it."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))\n"
        "from hoplab.front.commands import cli\n"
        f"def fail(): raise {raised}\n"
        "cli.command = fail\n"
        "from hoplab.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert line.startswith("hoplab: memory: there is not enough (ulimit -v allows 600 MiB); raise")
    assert done.returncode == 3


@pytest.mark.parametrize("words", [["--version"], ["schema"], ["schema", "--help"]])
def test_a_full_standard_output_is_told_in_a_line(words: list[str]) -> None:
    """Whether it is full at the first buffer or at the end."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hoplab", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == (
        "hoplab: standard output: cannot be written: No space left on device; send it elsewhere\n"
    )
    assert done.returncode == ResultsError.exit_status


@pytest.mark.parametrize(
    "options",
    [
        *({"radios": radios} for radios in (101, 10_000, -1, "2", 2.0, True, None)),
        *({"memory_mb": 1}, {"seed": "x"}, {"realtime": "yes"}),
    ],
)
def test_a_marker_with_impossible_options_is_refused(options: dict[str, Any]) -> None:
    item: Any = SimpleNamespace(nodeid="test_x.py::test_x")
    with pytest.raises(ScenarioError) as error:
        outside._settings(item, pytest.mark.hoplab(**options).mark)
    name, value = next(iter(options.items()))
    assert f"{name} = {value!r}; expected" in str(error.value)


def test_a_marker_with_possible_options() -> None:
    item: Any = SimpleNamespace(nodeid="test_x.py::test_x")
    given = {"radios": 100, "seed": 7, "realtime": True, "memory_mb": 512}
    assert outside._settings(item, pytest.mark.hoplab(**given).mark) == given


def test_the_current_folder_hides_nothing_from_a_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guest.FOLDER, "/out")
    monkeypatch.setattr(sys, "path", ["/elsewhere"])
    plugin.pytest_load_initial_conftests()
    assert sys.path == [str(Path.cwd()), "/elsewhere"]


def test_the_browser_is_given_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    shown._open("http://127.0.0.1:1/secret/", tmp_path)
    (file,) = tmp_path.iterdir()
    assert opened == [file.as_uri()]
    assert "secret" not in opened[0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert 'url=http://127.0.0.1:1/secret/"' in file.read_text()


def test_dask_leaves_nothing_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with dasked.joined(cluster.Cluster(kind="local", workers=1)) as workers:
        assert workers.client.submit(os.getpid).result() > 0
    assert list(tmp_path.iterdir()) == []


def test_a_battery_alone_acts_with_the_profiles_powers() -> None:
    whole = radio_with_profile(Radio()).energy
    found = radio_with_profile(Radio.model_validate({"energy": {"battery_j": 5.0}})).energy
    assert whole is not None
    assert found == whole.model_copy(update={"battery_j": 5.0})
    preset = {"preset": "ns2", "battery_j": 5.0}
    found = radio_with_profile(Radio.model_validate({"energy": preset})).energy
    assert found is not None
    assert found.model_dump(exclude_none=True) == preset


def test_a_sweep_in_a_programs_document_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is a sweep"):
        parse({"axis": []}, "x.toml")
