# SPDX-License-Identifier: Apache-2.0
"""The pictures of README, index and the live page's page are of this version. Those of the tutorial
are in test_tutorial.py, which makes its runs."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.results import load
from hoplab.model.resources import PROJECT
from tests.docs import pictured, shown

REMEDY = "is of another version: run 'make pictures ONLY={}', look at it, and commit it"
CLOSE = {"Retransmits": 0.6}
"""How far a card's figure may be from that of another build of the machine; usually a tenth."""


def kept(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pictured.KEPT.read_text(encoding="utf-8"))[name]
    return found


def same(name: str, found: pictured.Shown) -> None:
    assert found["words"] == kept(name)["words"], REMEDY.format(name)


def ran(scenario: Path, run: Path) -> Path:
    hoplab = PROJECT / ".venv" / "bin" / "hoplab"
    words = [hoplab, "run", scenario, "--out", run]
    subprocess.run(words, check=True, capture_output=True)
    return run


def test_the_readmes_run_has_its_goodput(tmp_path: Path) -> None:
    readme = PROJECT / "README.md"
    first = next(step for step in shown.steps(readme) if isinstance(step, shown.Shown))
    scenario = tmp_path / first.name
    scenario.write_text(first.text, encoding="utf-8")
    told = re.search(r"its flow: ([\d.]+) kbit/s", readme.read_text(encoding="utf-8"))
    assert told is not None
    goodput_kbps = load(ran(scenario, tmp_path / "first")).rows("flows")[0]["goodput_kbps"]
    assert goodput_kbps == pytest.approx(float(told[1]), rel=0.1)


def test_the_report_shows_what_its_picture_shows(tmp_path: Path) -> None:
    run = ran(PROJECT / "experiments" / "demo.toml", tmp_path / "demo")
    found = pictured.report(run)
    same("report", found)
    before = kept("report")["figures"]
    assert before.keys() == found["figures"].keys() >= {"Goodput", "Mean RTT"}
    for label, value in found["figures"].items():
        close = CLOSE.get(label, 0.1)
        assert value == pytest.approx(before[label], rel=close), (
            f"{label} {REMEDY.format('report')}"
        )


def test_the_live_page_shows_what_its_picture_shows() -> None:
    same("live", pictured.live())
    same("live-future", pictured.future())


def test_every_picture_of_a_page_is_made_by_the_same_command() -> None:
    there = {path.stem for path in pictured.FIGURES.glob("*.png")}
    assert there == {*json.loads(pictured.KEPT.read_text(encoding="utf-8"))}
    text = "".join(page.read_text(encoding="utf-8") for page in shown.pages())
    assert [name for name in there if f"figures/{name}.png" not in text] == []
