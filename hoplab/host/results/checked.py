# SPDX-License-Identifier: Apache-2.0
"""Whether a table is what its schema and its run say: somebody may have written or damaged it."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import arrow
from hoplab.model.records.schema import TABLES

STATIONS = {
    "nodes": ("node",),
    "radios": ("node",),
    "links": ("src", "dst"),
    "link_samples": ("src", "dst"),
    "signals": ("src", "dst"),
    "frames": ("src", "dst"),
}
"""Columns that name stations with radios."""
EVERYBODY = "*"
"""Receiver of a broadcast in table `frames`."""
FURTHER = ":"
"""Before the name of a station's further radio: ``n1:wlan1``."""
SHOWN = 60


def _is_finite(values: pa.ChunkedArray) -> bool:
    return (
        not pa.types.is_floating(values.type) or pc.all(pc.is_finite(values)).as_py() is not False
    )


def schema_mistake(name: str, found: pa.Schema) -> str | None:
    """Return how the columns of a table contradict its declaration; None if they do not.

    Columns of other versions of the schema may be more or fewer.
    """
    for column in found.names:
        if found.names.count(column) > 1:
            return f"has the column {column[:SHOWN]!r} twice"
    for column in TABLES[name].columns:
        place = found.get_field_index(column.name)
        if place < 0:
            continue
        kind = found.field(place).type
        if kind != arrow.TYPES[column.type] and not (pa.types.is_null(kind) and column.null):
            return f"column {column.name}: is of type {str(kind)[:SHOWN]}; expected {column.type}"
    return None


def content_mistake(name: str, found: pa.Table, stations: Collection[str]) -> str | None:
    """Return how the values of a table with sound columns contradict its declaration, or the run's
    stations; None if they do not."""
    for column in TABLES[name].columns:
        if column.name in found.column_names:
            mistake = arrow.mistake(column, found[column.name])
            if mistake is None and not _is_finite(found[column.name]):
                mistake = "has a value that is no number"
            if mistake is not None:
                return f"column {column.name}: {mistake}"
    for column_name in STATIONS.get(name, ()):
        if column_name not in found.column_names:
            continue
        for named in found[column_name].unique().to_pylist():
            if named is None or (name, named) == ("frames", EVERYBODY):
                continue
            if str(named).partition(FURTHER)[0] not in stations:
                return f"column {column_name}: the run has no station {named[:SHOWN]!r}"
    return None
