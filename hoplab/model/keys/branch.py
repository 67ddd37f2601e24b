# SPDX-License-Identifier: Apache-2.0
"""The keys of `[branch]`: another future of a run, from a time on."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from hoplab.model.keys.declare import Table, Text, Time, key

MOST_KEYS = 1000


class Branch(Table):
    """From `at_s` on other keys count (`docs/branches.md`). Until then the run is that of the
    scenario without this table, to the byte."""

    at_s: Time = key(..., "when the future begins", unit="s")
    set: dict[Text, Any] = Field(
        {},
        description="the keys that then count: `{ seed = 2, event = [] }`",
        max_length=MOST_KEYS,
    )

    @model_validator(mode="after")
    def _check(self) -> Branch:
        for name in self.set:
            if name.partition(".")[0] in ("branch", "title"):
                raise ValueError(f"set: {name!r} is no key of a future")
        return self
