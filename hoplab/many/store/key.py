# SPDX-License-Identifier: Apache-2.0
"""The key of a run: the hash of everything that its tables depend on."""

from __future__ import annotations

import hashlib
from functools import cache

from hoplab.model.keys.resolved import Resolved
from hoplab.model.resources import PACKAGE

FORMAT = 1
EVALUATION = ("host/results", "model/records")
"""Folders outside the sealed machine whose code makes tables of its records."""


def text_of(scenario: Resolved) -> str:
    """Return a resolved scenario as JSON, the same text from the same scenario."""
    return scenario.model_dump_json(exclude_none=True)


@cache
def evaluation() -> str:
    """Hash the code that turns a guest's records into tables. This code is no part of the machine.
    If it changes, the same scenario and machine make another run."""
    sha = hashlib.sha256()
    files = (path for folder in EVALUATION for path in (PACKAGE / folder).rglob("*"))
    for path in sorted(path for path in files if path.suffix in (".py", ".toml")):
        content = path.read_bytes()
        sha.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()


def key_of(text: str, machine: str) -> str:
    """SHA-256 over the resolved scenario's `text_of`, the machine's identity and `evaluation`."""
    head = f"hoplab run {FORMAT}\n{machine}\n{evaluation()}\n"
    return hashlib.sha256((head + text).encode()).hexdigest()
