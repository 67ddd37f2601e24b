# SPDX-License-Identifier: Apache-2.0
"""A run's ``manifest.json``, typed and with a version. It may come from a stranger."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from hoplab.model import reading
from hoplab.model.errors import ResultsError

NAME = "manifest.json"
VERSION = 2
DIGESTS_BY_COLUMNS = 2
"""First version whose digests are over columns (`hoplab.host.results.digests.TableDigest`)."""
LARGEST_BYTES = 64 << 20
RUNNING, RECORDS_ONLY, COMPLETE = "running", "records only", "complete"
"""States of a run: it is in progress (or was killed), its records wait for `finish`, all is
there."""

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(max_length=1000)]
Line = Annotated[str, StringConstraints(pattern=r"^[!-~]+ [!-~]+ [ -~]+$", max_length=1000)]
"""``KIND NAME VERSION`` of a package."""
Name = Annotated[str, StringConstraints(pattern=r"^[^/\x00]+$", max_length=255)]


class Where(StrEnum):
    """Where a run's lab ran, by the words of users and manifests."""

    GUEST = "uml"
    HOST = "host"
    SHELL = "shell"
    """Either of these with a person taking part, so that nothing can be repeated."""
    SCRIPT = "mininet-wifi"
    """The network of a script for Mininet-WiFi, which only the script can repeat."""
    AGENT = "agent"
    """A sealed guest with an agent that decided at its steps. Only the same decisions repeat it."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class Verdict(_Frozen):
    """How a run ended: exit status 0, or another with its reason; None while it is in progress."""

    status: int | None = None
    error: str | None = None
    warnings: list[str] = []


class Manifest(_Frozen):
    """``manifest.json`` of a run's folder: the run, its machine and its results."""

    version: int = 0
    """Version of this model; 0 if the file names none, as before version 1."""
    run: str = ""
    state: Text = COMPLETE
    digest: Text | None = None
    hoplab_version: str | None = None
    machine_hash: Hash | None = None
    machine_parts: dict[str, Text] | None = None
    guest_kernel: dict[str, Any] | None = None
    """A sealed machine's kernel: version, source, tiers of patches, a user's own patches."""
    packages: Annotated[list[Line], Field(max_length=100_000)] | None = None
    daemons: dict[str, Any] = {}
    host: dict[str, Any] | None = None
    confinement: str | None = None
    seed: int | None = None
    branch: dict[str, Any] | None = None
    """Of a branch: when it began, and the SHA-256 of its past's scenario as JSON. Of an agent's it
    is its own scenario, and there may be the seed from then on."""
    machine: Annotated[Where, Field(strict=False)] = Where.GUEST
    started: Text = ""
    routing: dict[str, Any] = {}
    verdict: Verdict = Verdict()
    wall_s: int | float | None = None
    tables: dict[Name, Text] | None = None
    captures: dict[Name, Text] = {}
    kernel: str | None = None
    virtual_s: int | float | None = None
    tcp_settings: dict[str, Any] = {}
    medium: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return the content of ``manifest.json``: what is known so far."""
        return self.model_dump(mode="json", exclude_unset=True)

    def updated(self, **values: Any) -> Manifest:
        """Return this manifest with other values, in the present version."""
        return self.model_copy(update={"version": VERSION, **values})


def read(path: Path, source: object = None) -> Manifest:
    """Return the manifest in a file, which messages call ``source``. Raises `ResultsError` if it is
    none."""
    source = path if source is None else source
    found = read_json(path)
    if not isinstance(found, dict):
        raise ResultsError(f"{source}: is no JSON object; run it again")
    version = found.get("version", 0)
    if isinstance(version, int) and version > VERSION:
        raise ResultsError(
            f"{source}: has version {version}, this hoplab reads up to {VERSION}; use a newer one"
        )
    try:
        return Manifest.model_validate(found)
    except ValidationError as error:
        raise ResultsError(
            f"{source}: is no run's manifest: {reading.mistake(error)}; run it again"
        ) from None


def read_json(path: Path) -> Any:
    """Return the content of a JSON file in a run's folder."""
    text = reading.read_bytes(path, LARGEST_BYTES, "the folder of a finished run", ResultsError)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ResultsError(f"{path}: is not JSON; the run did not finish") from None
