# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself is said alike everywhere."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import hoplab
from hoplab.model.resources import PROJECT


def _text(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def test_one_version_everywhere() -> None:
    citation = re.search(r"^version: (\S+)$", _text("CITATION.cff"), re.MULTILINE)
    newest = re.search(r"^## (\d\S*)", _text("CHANGELOG.md"), re.MULTILINE)
    assert citation is not None
    assert newest is not None
    versions = {
        "pyproject.toml": tomllib.loads(_text("pyproject.toml"))["project"]["version"],
        "daemons/Cargo.toml": tomllib.loads(_text("daemons/Cargo.toml"))["workspace"]["package"][
            "version"
        ],
        "CITATION.cff": citation[1],
        "CHANGELOG.md": newest[1],
    }
    assert set(versions.values()) == {hoplab.__version__}, versions


def _notes(tmp_path: Path, head: str, tag: str) -> "subprocess.CompletedProcess[str]":
    """What the script says in a checkout of version 1.2.3 whose changelog has this heading."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(PROJECT / "scripts" / "release-notes", tmp_path / "scripts")
    (tmp_path / "pyproject.toml").write_text('version = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        f"# Log\n\n## {head}\n\n- new\n\n## 1.2.2 (2026-01-01)\n\n- old\n"
    )
    return subprocess.run(
        [tmp_path / "scripts" / "release-notes", tag], capture_output=True, text=True, check=False
    )


def test_a_releases_notes_are_its_part_of_the_changelog(tmp_path: Path) -> None:
    done = _notes(tmp_path, "1.2.3 (2026-02-01)", "v1.2.3")
    assert (done.returncode, done.stdout.strip()) == (0, "- new")


@pytest.mark.parametrize(
    ("head", "tag", "words"),
    [
        ("1.2.3 (2026-02-01)", "v1.2.4", "tag v1.2.4, but pyproject.toml has 1.2.3"),
        ("1.2.3 (unreleased)", "v1.2.3", "expected '## 1.2.3 (YYYY-MM-DD)'"),
        ("1.2.4 (2026-02-01)", "v1.2.3", "CHANGELOG.md has no 1.2.3"),
    ],
)
def test_a_tag_that_is_not_the_versions_is_no_release(
    tmp_path: Path, head: str, tag: str, words: str
) -> None:
    done = _notes(tmp_path, head, tag)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_workflow_runs_what_is_there() -> None:
    """Each of its steps that calls this checkout's own."""
    workflow = yaml.safe_load(_text(".github/workflows/release.yml"))
    assert workflow[True]["push"]["tags"] == ["v*"]  # YAML 1.1 reads "on" so
    steps = [step.get("run", "") for step in workflow["jobs"]["release"]["steps"]]
    for program in (".ci/run", "scripts/release-notes"):
        assert any(step.startswith(program) for step in steps)
        assert os.access(PROJECT / program, os.X_OK)
    assert "make wheels" in steps and "\nwheels:" in _text("Makefile")
