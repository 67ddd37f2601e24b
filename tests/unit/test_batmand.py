# SPDX-License-Identifier: Apache-2.0
"""Starting batmand at every station."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hoplab.guest.routing import daemons
from hoplab.guest.system.processes import Daemons
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

SCENARIO = """
duration_s = 1
[topology]
kind = "chain"
stations = 3
[routing]
protocol = "batmand"
"""


def test_each_has_its_socket_before_the_next_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All take one path for it, and each removes what it finds there."""
    done: list[str] = []

    def serve(station: str, command: list[str], log: Path, is_resident: bool) -> Any:
        assert not is_resident
        done.append(f"start {station}")
        return SimpleNamespace(pid=0, poll=lambda: None)

    monkeypatch.setattr(daemons, "program", lambda name: name)
    monkeypatch.setattr(daemons, "wait_for", lambda daemon, is_ready: done.append(daemon.name))
    work = plan(resolve(parse(tomllib.loads(SCENARIO), "test")))
    daemons.start(work, SimpleNamespace(serve=serve), tmp_path, 0, Daemons())  # type: ignore[arg-type]
    assert done == [
        word for name in ("n0", "n1", "n2") for word in (f"start {name}", f"batmand at {name}")
    ]


def test_a_daemon_that_has_ended_has_no_socket(tmp_path: Path) -> None:
    ended = SimpleNamespace(process=SimpleNamespace(pid=1 << 22))
    assert not daemons._has_bound(ended)  # type: ignore[arg-type]
