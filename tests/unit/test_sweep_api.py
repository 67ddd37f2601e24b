# SPDX-License-Identifier: Apache-2.0
"""Sweeps from Python."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hoplab.many.store import entry as entries
from hoplab.many.sweep import api, engine


def test_an_option_with_a_mistake_is_refused() -> None:
    options: dict[str, Any] = {"worker": 2}
    with pytest.raises(TypeError, match=r"no option 'worker'; one of: store, tables, workers"):
        api.run_all([], **options)


@pytest.mark.parametrize("cold", [False, True])
def test_a_worker_learns_whether_a_guest_boots_for_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cold: bool
) -> None:
    seen = []

    def work(request: Any) -> Any:
        seen.append(request.cold)
        head = {"machine": "m", "scenario": {}, "digest": "d", "digests": {}, "key": request.key}
        return engine.Answer(entries.pack(entries.made(head, {})))

    monkeypatch.setattr(engine.task, "work", work)
    monkeypatch.setattr(engine.task, "know", lambda machine: None)
    machine: Any = SimpleNamespace(id="m" * 64)
    points = [api.Point({}, {"topology": {"kind": "pair"}})]
    api.run_all(points, store=tmp_path, workers=0, machine=machine, cold=cold)
    assert seen == [cold]
