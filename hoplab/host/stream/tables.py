# SPDX-License-Identifier: Apache-2.0
"""Every table that a stream carries."""

from __future__ import annotations

from pathlib import Path

from hoplab.model.records import schema

OWN = schema.load(Path(__file__).with_name("schema.toml"))
"""Tables that only streams have."""
TABLES = schema.TABLES | OWN
"""These and the tables of a run."""
