# SPDX-License-Identifier: Apache-2.0
"""The benchmark of ten broken networks: each has one cause, and only the right one is right."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from hoplab.front.api import resolved_scenario
from hoplab.model.resources import EXPERIMENTS


def _module() -> ModuleType:
    path = EXPERIMENTS / "faults" / "faults.py"
    spec = importlib.util.spec_from_file_location("faults", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


faults = _module()
EVERY = [(cause, place) for cause, (places, _) in faults.CAUSES.items() for place in places]


def test_no_two_answers_are_one_scenario() -> None:
    made = {resolved_scenario(faults.broken(*one)).model_dump_json() for one in EVERY}
    healthy = resolved_scenario(faults.NETWORK).model_dump_json()
    assert len(made) == len(EVERY) and healthy not in made


def test_a_seed_draws_each_cause_once() -> None:
    for seed in range(1, 20):
        drawn = faults.cases(seed)
        assert sorted(cause for cause, _ in drawn.values()) == sorted(faults.CAUSES)
        assert all(answer in EVERY for answer in drawn.values())
    assert faults.cases(1) == faults.cases(1) != faults.cases(2)


def test_the_judge_needs_no_run_for_the_cause_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults.hoplab, "run", lambda *a, **k: pytest.fail("was run"))
    given = faults.cases(1)
    assert set(dict(faults.judge(given, 1)).values()) == {"right"}
    assert set(dict(faults.judge({}, 1)).values()) == {"no answer"}


def test_another_cause_is_right_only_with_the_same_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    number, truth = next(iter(faults.cases(1).items()))
    other = next(one for one in EVERY if one != truth)
    for digests, verdict in ((["a", "b"], "wrong"), (["a", "a"], "right")):
        left = list(digests)
        monkeypatch.setattr(faults, "_digest", lambda network, left=left: left.pop())
        assert dict(faults.judge({number: other}, 1))[number] == verdict


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("{", "is no JSON"),
        ("[" * 50_000, "is no JSON"),
        ("[]", "expected {"),
        ('{"1": "lossy-link"}', "case '1': expected"),
        ('{"1": [1, 2]}', "case '1': expected"),
        ('{"1": ["rain", "n1"]}', "'rain': is no cause; one of: lossy-link"),
        ('{"1": ["lossy-link", "n1"]}', "lossy-link: 'n1' is no place; one of: n0 n1"),
    ],
)
def test_what_is_no_answer_is_a_line(
    content: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answers.json"
    file.write_text(content)
    assert faults.main(["judge", str(file)]) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1
    assert faults.main(["make", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err


def test_answers_are_read_as_the_page_shows_them(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"1": ["lossy-link", "n1 n2"]}))
    assert faults.answers(file) == {"1": ("lossy-link", "n1 n2")}
