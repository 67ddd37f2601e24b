# SPDX-License-Identifier: Apache-2.0
"""A run's manifest: what is written is read again, older ones too, newer ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hoplab.host.results.manifest import VERSION, Manifest, Verdict, Where, read
from hoplab.host.runs import beginning
from hoplab.model.errors import ResultsError
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve


def written(folder: Path, **values: Any) -> Path:
    path = folder / "manifest.json"
    path.write_text(json.dumps(values))
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    scenario = resolve(parse({"topology": {"kind": "chain", "stations": 2}, "seed": 5}, "test"))
    beginning.begin(tmp_path, scenario, Where.SHELL)
    path = tmp_path / "manifest.json"
    found = read(path)
    assert (found.version, found.seed, found.machine) == (VERSION, 5, Where.SHELL)
    assert found.state == "running" and found.verdict == Verdict()
    assert found.document() == json.loads(path.read_text())
    assert found.document()["machine"] == "shell"
    assert "tables" not in found.document()  # there are none yet


def test_a_manifest_of_before_versions_is_read(tmp_path: Path) -> None:
    verdict = {"status": 4, "error": "n0: ended", "warnings": ["w"]}
    old = written(tmp_path, machine="host", digest="d", verdict=verdict, unknown=1)
    found = read(old)
    assert (found.version, found.machine, found.digest) == (0, Where.HOST, "d")
    assert found.verdict.status == 4 and found.verdict.warnings == ["w"]
    assert found.updated(digest="e").document() == {
        "version": VERSION,
        "machine": "host",
        "digest": "e",
        "verdict": verdict,
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"version": VERSION + 1}, f"version {VERSION + 1}, this hoplab reads up to {VERSION}"),
        ({"version": "1"}, "is no run's manifest: 'version'"),
        ({"machine": "moon"}, "is no run's manifest: 'machine'"),
        ({"verdict": None}, "is no run's manifest: 'verdict'"),
        ({"medium": []}, "is no run's manifest: 'medium'"),
        ({"wall_s": "1"}, "is no run's manifest: 'wall_s"),
    ],
)
def test_what_is_no_manifest(value: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=message) as told:
        read(written(tmp_path, **value))
    assert "\n" not in str(told.value)


def test_a_manifest_is_not_changed() -> None:
    with pytest.raises(ValidationError):
        Manifest().digest = "x"  # type: ignore[misc]
