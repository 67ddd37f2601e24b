# SPDX-License-Identifier: Apache-2.0
"""Files for other programs are what these programs take: workflows, the CI's recipes, containers,
the notebook for Colab, the citation."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

import hoplab
from hoplab.model.resources import PROJECT
from tests.docs import shown

SCHEMAS = {
    "github-workflows": [".github/workflows/*.yml"],
    "github-actions": ["action.yml"],
    "github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml"],
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "gitlab-ci": ["packaging/ci/gitlab.yml"],
    "citation-file-format": ["CITATION.cff"],
    "compose-spec": ["dashboards/compose.yaml"],
}
"""Schemas of the SchemaStore, which the package check-jsonschema contains, by files."""
CHECK = [str(Path(sys.executable).with_name("check-jsonschema"))]


def _files(patterns: list[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(PROJECT.glob(pattern))]


def _checked(schema: str, files: list[Path]) -> "subprocess.CompletedProcess[str]":
    command = [*CHECK, "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_are_of_their_schema(schema: str) -> None:
    files = _files(SCHEMAS[schema])
    assert files
    done = _checked(schema, files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_recipes_of_the_page_are_of_their_schema(tmp_path: Path) -> None:
    steps = [step for step in shown.steps(PROJECT / "docs/ci.md") if isinstance(step, shown.Shown)]
    recipes = {step.name: step.text for step in steps}
    for name, schema in (
        (".github/workflows/emulation.yml", "github-workflows"),
        (".gitlab-ci.yml", "gitlab-ci"),
    ):
        file = tmp_path / Path(name).name
        file.write_text(recipes[name])
        done = _checked(schema, [file])
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_workflow_with_a_mistake_is_refused(tmp_path: Path) -> None:
    """So that the tests above can fail."""
    wrong = tmp_path / "checks.yml"
    text = (PROJECT / ".github/workflows/checks.yml").read_text()
    wrong.write_text(text.replace("runs-on:", "run-on:", 1))
    assert _checked("github-workflows", [wrong]).returncode == 1


@pytest.mark.parametrize("file", _files([".github/workflows/*.yml"]), ids=lambda path: path.name)
def test_what_a_workflow_calls_is_there(file: Path) -> None:
    jobs = yaml.safe_load(file.read_text())["jobs"]
    for job in jobs.values():
        assert job["timeout-minutes"]
        for needed in [job.get("needs", [])]:
            assert {needed} if isinstance(needed, str) else set(needed) <= set(jobs)
        for step in job["steps"]:
            word = step.get("run", "").split(" ")[0]
            if "/" in word:
                assert (PROJECT / word).stat().st_mode & 0o111, word
            if target := re.match(r"make (\w+)", step.get("run", "")):
                assert f"\n{target[1]}:" in (PROJECT / "Makefile").read_text()


def test_the_citation_is_of_this_version() -> None:
    """On its page too."""
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    assert citation["version"] == hoplab.__version__
    page = (PROJECT / "docs/cite.md").read_text()
    assert f"version = {{{citation['version']}}}" in page
    assert citation["license"] in page


def test_the_containers_steps_are_there() -> None:
    text = (PROJECT / "packaging/container/Containerfile").read_text()
    assert "USER lab" in text and text.count("FROM docker.io/library/debian:12") == 2
    for name in re.findall(r"RUN /hoplab/(\S+)", text):
        assert (PROJECT / name).exists(), name
    container = json.loads((PROJECT / ".devcontainer/devcontainer.json").read_text())
    target = container["onCreateCommand"].removeprefix("make ")
    assert f"\n{target}:" in (PROJECT / "Makefile").read_text()


def test_colabs_notebook_installs_first() -> None:
    notebook = nbformat.read(PROJECT / "packaging/colab/hoplab.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[0] == "%pip install --quiet hoplab"
    for cell in cells[1:]:
        compile(cell, "cell", "exec")
    assert not any(cell.get("outputs") for cell in notebook.cells)
