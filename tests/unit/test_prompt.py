# SPDX-License-Identifier: Apache-2.0
"""Who may have a prompt on a network."""

import contextlib
import os
import sys
from pathlib import Path

import pytest

from hoplab.host.runs import kinds, launch
from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.file import parse
from hoplab.model.scenario.resolve import resolve


@pytest.mark.parametrize("kind", ["closed", "null", "file", "pipe"])
def test_a_prompt_needs_a_terminal(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, before anything is made."""
    file = tmp_path / "commands"
    file.write_text("n0 ping n1\n")
    reading, writing = os.pipe()
    given = {"null": os.open(os.devnull, os.O_RDONLY), "file": os.open(file, os.O_RDONLY)}
    given["pipe"] = reading
    document = {"duration_s": 1, "topology": {"kind": "chain", "stations": 2}}
    scenario = resolve(parse(document, "test"))
    with contextlib.ExitStack() as stack:
        for descriptor in (*given.values(), writing):
            stack.callback(os.close, descriptor)
        stdin = os.fdopen(given[kind], closefd=False) if kind in given else None
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(ScenarioError, match=r"^standard input: is no terminal") as told:
            launch.shell(scenario, tmp_path / "out", kinds.OwnGuest())
    assert told.value.exit_status == 2 and "\n" not in str(told.value)
    assert not (tmp_path / "out").exists()
