# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself is said alike everywhere."""

import re
import tomllib

import hoplab
from hoplab.resources import PROJECT


def _text(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def test_one_version_everywhere() -> None:
    citation = re.search(r"^version: (\S+)$", _text("CITATION.cff"), re.MULTILINE)
    newest = re.search(r"^## (\S+)", _text("CHANGELOG.md"), re.MULTILINE)
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
