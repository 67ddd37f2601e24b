# SPDX-License-Identifier: Apache-2.0
"""Links with a preset or a trace: the preset's keys, and the steps of the trace's file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.link_traces import MOST_PACKED, load
from hoplab.model.keys.links import Link
from hoplab.model.resources import PRESETS
from hoplab.model.wording import worded

LINKS = PRESETS / "links"
WAYS = ("up", "down")


def resolved(link: Link, duration_s: float, folder: Path) -> Link:
    """Return a link whose preset and traces have been read. The link's own keys go over the
    preset's; its traces are looked up in ``folder``. Raises `ScenarioError`."""
    if link.preset is None and not _traces(link):
        return link
    written: dict[str, Any] = link.model_dump(exclude_unset=True)
    name = written.pop("preset", None)
    own = _packed(written, duration_s, folder)
    if name is not None:
        preset = tomllib.loads((LINKS / f"{name}.toml").read_text(encoding="utf-8"))
        own = _over(own, _packed(preset["link"], duration_s, LINKS))
    try:
        return Link.model_validate(own)
    except ValidationError as error:
        message = worded(error)[0]["msg"]
        raise ScenarioError(f"link: {' to '.join(link.ends)}: {message}") from None


def _traces(link: Link) -> bool:
    return any(one is not None and one.trace is not None for one in (link, link.up, link.down))


def _packed(keys: dict[str, Any], duration_s: float, folder: Path) -> dict[str, Any]:
    """Return the keys of a link with the steps of traces in their place."""
    made = dict(keys)
    for way in WAYS:
        if made.get(way) is not None:
            made[way] = _packed(made[way], duration_s, folder)
    name = made.pop("trace", None)
    if name is not None:
        repeated = made.get("trace_repeats") is not False
        trace = load(folder / name, duration_s, repeated)
        given = [one for one in ("delay_ms", "loss") if trace.path is not None and one in made]
        if given:
            raise ScenarioError(
                f"{folder / name}: has delay_ms of its own, so {given[0]} beside trace does not "
                "count; remove one"
            )
        packed = trace.packed()
        if len(packed) > MOST_PACKED:
            raise ScenarioError(
                f"{folder / name}: the run's part takes {len(packed) >> 20} MiB packed, at most "
                f"{MOST_PACKED >> 20}; shorten the run or the trace"
            )
        made["trace_steps"] = packed
    return made


def _over(own: dict[str, Any], preset: dict[str, Any]) -> dict[str, Any]:
    """Return the preset's keys with those of a link over them. A link's key counts both ways."""
    made = {key: value for key, value in preset.items() if key not in WAYS}
    made |= {key: value for key, value in own.items() if key not in WAYS}
    for way in WAYS:
        of_preset = {k: v for k, v in preset.get(way, {}).items() if k not in own}
        if "rate_mbps" in own or "trace_steps" in own:
            of_preset = {
                k: v for k, v in of_preset.items() if k not in ("rate_mbps", "trace_steps")
            }
        found = {**of_preset, **(own.get(way) or {})}
        if found:
            made[way] = found
    return made
