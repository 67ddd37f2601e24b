# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: every page has a place, and pages agree where they must."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from hoplab.model.resources import PROJECT

DOCS = PROJECT / "docs"
NAVIGATION = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
LIMITS = (
    "streams are ideal",
    "2000 stations",
    "compute in no time",
    "Propagation delay is zero",
    "ELFN and Split-TCP are for IPv4",
    "does not isolate as a virtual machine does",
    "x86_64",
)
"""What docs/not-for.md builds on. Where a limit is lifted, take it out of both pages."""


def _pages() -> list[str]:
    found = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    return sorted(page.relative_to(DOCS).as_posix() for page in found)


@pytest.mark.parametrize("page", _pages())
def test_every_page_has_a_place_on_the_site(page: str) -> None:
    places = re.findall(r"(?:- |: )(\S+\.(?:md|ipynb))$", NAVIGATION, re.MULTILINE)
    assert any(Path(page).match(place) for place in places), "give it a place in mkdocs.yml, nav"


def test_every_place_has_its_page() -> None:
    places = re.findall(r"(?:- |: )(\S+\.(?:md|ipynb))$", NAVIGATION, re.MULTILINE)
    made = {"options.md", "gallery.md"}  # packaging/docs/hooks.py
    missing = [p for p in places if "*" not in p and p not in made and not (DOCS / p).exists()]
    assert not missing


@pytest.mark.parametrize("limit", LIMITS)
def test_what_it_is_not_for_agrees_with_its_limits(limit: str) -> None:
    for name in ("limitations.md", "not-for.md"):
        text = " ".join((DOCS / name).read_text(encoding="utf-8").split())
        assert limit.lower() in text.lower(), name


def test_a_pages_links_of_the_repository_are_there() -> None:
    """What MkDocs does not see: README's links, and files named in its tables."""
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:docs|experiments|topologies|packaging)/[^` …]*)`", text)
    linked = re.findall(r"\]\(([^)#:]+)\)|src=\"([^\"]+)\"", text)
    for place in {*named, *(a or b for a, b in linked)}:
        assert (PROJECT / place).exists(), place


def test_the_glossarys_terms_live_where_it_says() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    places = re.findall(r"`((?:daemons|hoplab|kernel-modules)/[^`]+\w/?)`", text)
    assert places
    assert [place for place in places if not (PROJECT / place).exists()] == []


def test_recipes_are_whole() -> None:
    """YAML, shell that parses, and programs that are there."""
    action = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
    job = yaml.safe_load((PROJECT / "packaging/ci/gitlab.yml").read_text(encoding="utf-8"))
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    scripts.append("\n".join(job[".hoplab"]["before_script"] + job[".hoplab"]["script"]))
    scripts.append((PROJECT / "packaging/ci/install").read_text(encoding="utf-8"))
    for script in scripts:
        subprocess.run(["bash", "-n", "-c", script], check=True)
    inputs = {f"inputs.{name}" for name in action["inputs"]}
    assert set(re.findall(r"inputs\.\w+", str(action))) == inputs
    for name in set(re.findall(r"packaging/ci/\w+", "".join(scripts))):
        assert os.access(PROJECT / name, os.X_OK), name


def test_the_key_of_the_wheels_follows_their_sources() -> None:
    asked = [PROJECT / "packaging/ci/install", "--key"]
    keys = {subprocess.run(asked, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(keys) == 1
