# SPDX-License-Identifier: Apache-2.0
"""docs/tables.md from the schema: ``python -m hoplab.front.pages.tables >docs/tables.md``."""

from __future__ import annotations

from collections.abc import Iterator

from hoplab.model.records.schema import TABLES, Column, Table

HEAD = """\
# The tables of a run

`RUN/tables/NAME.parquet`, made from the raw records when the run ends. This page is made from
`hoplab/model/records/schema.toml` by `python -m hoplab.front.pages.tables`; units and meanings are
also in the Parquet files' metadata. A table without rows is not written. Null stands for "no
value", for the reason that the column's meaning gives.

    import hoplab
    hoplab.load("RUN").tcp

Tables with a time `t_s` are sorted by it and end at `duration_s`. Times are scenario time in
seconds, 0 at the start of the measured part.
"""


def lines() -> Iterator[str]:
    """The page, line by line."""
    yield from HEAD.splitlines()
    for table in TABLES.values():
        yield from _section(table)


def _section(table: Table) -> Iterator[str]:
    yield from ("", f"## {table.name}", "", table.rows, "", "| column | type | unit | meaning |")
    yield "|---|---|---|---|"
    for column in table.columns:
        unit = column.unit or ""
        yield f"| `{column.name}` | {column.type} | {unit} | {_meaning(column)} |"


def _meaning(column: Column) -> str:
    text = column.meaning
    if column.values is not None:
        text += f" One of {', '.join(f'`{value}`' for value in column.values)}."
    if column.null is not None:
        text += f" Null {column.null}."
    return text


if __name__ == "__main__":
    print("\n".join(lines()))
