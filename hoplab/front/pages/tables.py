# SPDX-License-Identifier: Apache-2.0
"""docs/tables.md from the schema: ``python -m hoplab.front.pages.tables >docs/tables.md``."""

from __future__ import annotations

from collections.abc import Iterator

from hoplab.model.records.schema import TABLES, Column, Table

COUNTED = ("bytes", "frames", "packets", "segments")
"""Units of columns that are integers, unless they say otherwise."""
HEAD = """\
# The tables of a run

You can look up every column of `RUN/tables/NAME.parquet`, which Hoplab writes when the run ends:

    import hoplab
    hoplab.load("RUN").tcp

Hoplab writes no table without rows. Null means "no value"; the meaning says why. \
Tables with a time `t_s` are sorted by it and end at `duration_s`. \
Times are scenario time in seconds, 0 at the start of the measured part. \
A column in bytes, frames, packets or segments is an integer, any other with a unit is a float, \
unless it says otherwise. \
The Parquet files' metadata has all of this too.

`hoplab/model/records/schema.toml` declares the tables. \
`python -m hoplab.front.pages.tables` makes this page from it.
"""


def lines() -> Iterator[str]:
    """The page, line by line."""
    yield from HEAD.splitlines()
    for table in TABLES.values():
        yield from _section(table)


def _section(table: Table) -> Iterator[str]:
    yield from ("", f"## {table.name}", "", table.rows, "", "| column | unit or type | meaning |")
    yield "|---|---|---|"
    for column in table.columns:
        yield f"| `{column.name}` | {_unit(column)} | {_meaning(column)} |"


def _unit(column: Column) -> str:
    """Return the unit if that implies the type, else the type too."""
    if column.unit is None:
        return column.type
    implied = "integer" if column.unit in COUNTED else "float"
    return column.unit if column.type == implied else f"{column.unit}, {column.type}"


def _meaning(column: Column) -> str:
    text = column.meaning
    if column.values is not None:
        text = f"{text.removesuffix('.')}: {', '.join(f'`{value}`' for value in column.values)}."
    if column.null is not None:
        text += f" Null {column.null}."
    return text


if __name__ == "__main__":
    print("\n".join(lines()))
