# SPDX-License-Identifier: Apache-2.0
"""What a finished run's ``manifest.json`` may say: it may be a stranger's.

Keys that nothing here decides by may be anything.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from hoplab.model import reading
from hoplab.model.errors import ResultsError

LARGEST_BYTES = 64 << 20

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(max_length=1000)]
Line = Annotated[str, StringConstraints(pattern=r"^[!-~]+ [!-~]+ [ -~]+$", max_length=1000)]
"""``KIND NAME VERSION`` of a package."""
Name = Annotated[str, StringConstraints(pattern=r"^[^/\x00]+$", max_length=255)]


class Where(StrEnum):
    """What a run's lab ran on, by the words that users type and manifests hold."""

    GUEST = "uml"
    HOST = "host"
    SHELL = "shell"
    """Either, where somebody took part: there is nothing to repeat."""
    SCRIPT = "mininet-wifi"
    """The network of a script for Mininet-WiFi: nothing but the script can repeat it."""


class _Verdict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    error: str | None = None
    warnings: list[str] = []


class _Manifest(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    machine: Text = "uml"
    state: Text = "complete"
    digest: Text | None = None
    started: Text = ""
    machine_hash: Hash | None = None
    machine_parts: dict[str, Text] | None = None
    packages: Annotated[list[Line], Field(max_length=100_000)] | None = None
    tables: dict[Name, Text] | None = None
    captures: dict[Name, Text] | None = None
    virtual_s: int | float | None = None
    verdict: _Verdict | None = None


def check(manifest: Any, source: object) -> dict[str, Any]:
    """The manifest itself; raises `ResultsError` where it does not say what one says."""
    if not isinstance(manifest, dict):
        raise ResultsError(f"{source}: is no JSON object; run it again")
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise ResultsError(
            f"{source}: is no run's manifest: {where!r}: {first['msg']}; run it again"
        ) from None
    return manifest


def read_json(path: Path) -> Any:
    """A file of a run's folder."""
    text = reading.read_bytes(path, LARGEST_BYTES, "the folder of a finished run", ResultsError)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ResultsError(f"{path}: is not JSON; the run did not finish") from None
