# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself is said alike everywhere."""

import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

import hoplab
from hoplab.host.machine import sources
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


FAKES = {
    "bin/make": "mkdir -p build/wheels; for name in hoplab hoplab_machine; do "
    "head -c ${SIZE:-9} /dev/zero >build/wheels/$name-1.2.3.whl; done",
    "bin/gh": 'echo "gh $*" >>"$LOG"',
    ".venv/bin/python": 'echo s >"${!#}/hoplab-machine-1.2.3-sources.tar"',
    "packaging/ci/installed": 'echo "installed $*" >>"$LOG"; [ -z "${BROKEN:-}" ]',
}
"""What a release calls, as scripts that write down how they were called."""


def _release(
    tmp_path: Path, head: str, *words: str, **environment: str
) -> tuple["subprocess.CompletedProcess[str]", str]:
    """A release in a checkout of version 1.2.3, and the calls that it made."""
    _notes(tmp_path, head, "v1.2.3")
    shutil.copy(PROJECT / "scripts" / "release", tmp_path / "scripts")
    for name, script in FAKES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/bash\nset -e\n{script}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [tmp_path / "scripts" / "release", *words],
        env={**os.environ, "PATH": path, "LOG": str(tmp_path / "log"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    log = tmp_path / "log"
    return done, log.read_text() if log.exists() else ""


MADE = {
    *("notes.md", "SHA256SUMS", "hoplab-1.2.3.whl", "hoplab_machine-1.2.3.whl"),
    "hoplab-machine-1.2.3-sources.tar",
}


def test_a_dry_run_makes_and_tests_all_and_publishes_nothing(tmp_path: Path) -> None:
    done, calls = _release(tmp_path, "Unreleased", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "build" / "release").iterdir()} == MADE
    assert "installed build/release" in calls and "gh" not in calls
    assert "v1.2.3 is ready in build/release; nothing was published" in done.stdout
    assert (tmp_path / "build/release/notes.md").read_text().strip() == "- new"
    subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"],
        cwd=tmp_path / "build/release",
        check=True,
    )


def test_a_release_publishes_what_was_tested(tmp_path: Path) -> None:
    done, calls = _release(tmp_path, "1.2.3 (2026-02-01)", "v1.2.3")
    assert done.returncode == 0, done.stderr
    tested, published = calls.index("installed"), calls.index("gh release create v1.2.3")
    assert tested < published
    for name in MADE - {"notes.md"}:
        assert name in calls[published:]


@pytest.mark.parametrize(
    ("head", "words", "environment", "told"),
    [
        ("1.2.3 (2026-02-01)", ["v1.2.4"], {}, "tag v1.2.4, but pyproject.toml has 1.2.3"),
        ("Unreleased", [], {}, "CHANGELOG.md has no 1.2.3"),
        ("1.2.3 (2026-02-01)", ["a", "b"], {}, "expected [--dry-run] [vX.Y.Z], not: a b"),
        ("1.2.3 (2026-02-01)", [], {"SIZE": str(100 << 20)}, "has 100 MB, at most 100"),
        ("1.2.3 (2026-02-01)", [], {"BROKEN": "1"}, ""),
    ],
)
def test_what_is_wrong_is_not_published(
    tmp_path: Path, head: str, words: list[str], environment: dict[str, str], told: str
) -> None:
    done, calls = _release(tmp_path, head, *words, **environment)
    assert done.returncode != 0
    assert told in done.stderr and "gh" not in calls


STANZA = "Package: x\nVersion: {version}\n{source}Description: y\n"


@pytest.mark.parametrize(
    ("version", "source", "expected"),
    [
        ("1.35-4+b1", "Source: busybox\n", "busybox=1.35-4"),
        ("12.2.0-14+deb12u1", "Source: gcc-12\n", "gcc-12=12.2.0-14+deb12u1"),
        ("2.36", "Source: glibc (2.36-9)\n", "glibc=2.36-9"),
        ("1.12.1-1", "", "babeld=1.12.1-1"),
        ("1:1.35.0-4+deb12u1+b1", "", "babeld=1:1.35.0-4+deb12u1"),
        ("1.0+bzr5-1+b12", "", "babeld=1.0+bzr5-1"),
    ],
)
def test_the_source_of_a_package_is_of_its_version(
    version: str, source: str, expected: str
) -> None:
    assert sources.source_of("babeld", STANZA.format(version=version, source=source)) == expected


def test_an_archive_of_sources_is_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.dsc").write_text("b")
    (tmp_path / "elsewhere").write_text("a")
    (tmp_path / "in" / "a.tar.xz").symlink_to(tmp_path / "elsewhere")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        sources.pack(tmp_path / "in", tmp_path / name / "x.tar")
        os.utime(tmp_path / "elsewhere", (1, 1))
    made = [(tmp_path / name / "x.tar").read_bytes() for name in ("one", "two")]
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "one" / "x.tar") as tar:
        assert tar.getnames() == ["x/a.tar.xz", "x/b.dsc"]
        assert all(member.isfile() for member in tar)


def test_the_workflow_runs_what_is_there() -> None:
    """Each of its steps that calls this checkout's own."""
    workflow = yaml.safe_load(_text(".github/workflows/release.yml"))
    assert workflow[True]["push"]["tags"] == ["v*"]  # YAML 1.1 reads "on" so
    steps = [step.get("run", "") for step in workflow["jobs"]["release"]["steps"]]
    for program in (".ci/run", "scripts/release-notes", "scripts/release"):
        assert any(step.startswith(program) for step in steps)
        assert os.access(PROJECT / program, os.X_OK)
    assert "\nwheels:" in _text("Makefile")
    # Only the job that hands the wheels to the registry may ask for its trust.
    trusted = {
        n for n, job in workflow["jobs"].items() if "id-token" in str(job.get("permissions"))
    }
    assert trusted == {"registry"}
    assert workflow["jobs"]["registry"]["needs"] == "installed"
    assert workflow["jobs"]["installed"]["needs"] == "release"
