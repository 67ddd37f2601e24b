# SPDX-License-Identifier: Apache-2.0
"""The sinks that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hoplab.host.stream import grafana
from hoplab.host.stream.file import File
from hoplab.model.errors import ScenarioError

if TYPE_CHECKING:
    from hoplab.host.stream.influx import Influx


def sinks(urls: Sequence[str] | None, files: Sequence[Path] | None) -> list[Influx | File]:
    """Return a sink for each. Raises `ScenarioError` for an impossible one."""
    for path in files or []:
        if path.is_dir() or not path.parent.is_dir():
            expected = "expected a file or a pipe in a folder that exists"
            raise ScenarioError(f"--stream: {str(path)!r} cannot be written: {expected}")
    written: list[Influx | File] = [*map(File, files or [])]
    if not urls:
        return written
    grafana.address()  # reports a mistake in it before anything runs
    from hoplab.host.stream.influx import Influx  # its HTTP client is for these alone

    return [*map(Influx, urls), *written]
