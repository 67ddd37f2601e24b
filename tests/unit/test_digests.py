# SPDX-License-Identifier: Apache-2.0
"""A table's digest: of its values alone, and of each of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.host.results.digests import TableDigest, of_table

TABLE = pa.table(
    {
        "a": pa.array([1, 2, None, 4], pa.int64()),
        "b": pa.array([0.5, None, 0.0, -1.0], pa.float64()),
        "c": pa.array(["x", "", None, "yé"], pa.string()),
    }
)


def test_how_a_table_is_cut_and_written_makes_no_difference(tmp_path: Path) -> None:
    whole = of_table("own", TABLE)
    digest = TableDigest("own")
    for at in range(4):
        digest.add(TABLE.slice(at, 1))
    assert digest.hexdigest() == whole
    assert of_table("own", pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)])) == whole
    assert of_table("own", TABLE.select(["c", "a", "b"])) == whole
    pq.write_table(TABLE, tmp_path / "t.parquet", compression="gzip", row_group_size=2)
    assert of_table("own", pq.read_table(tmp_path / "t.parquet")) == whole


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("a", 0, 0),
        ("a", 2, 0),
        ("a", 3, None),
        ("b", 1, 0.0),
        ("b", 2, -0.0),
        ("b", 0, 0.5000000000000001),
        ("c", 1, None),
        ("c", 2, ""),
        ("c", 0, "xy"),
        ("c", 3, "é"),
    ],
)
def test_each_value_counts(column: str, row: int, value: float | str | None) -> None:
    values = TABLE.to_pydict()
    values[column][row] = value
    other = pa.table(values).cast(TABLE.schema)
    assert of_table("own", other) != of_table("own", TABLE)


def test_where_a_text_ends_and_which_row_has_it_counts() -> None:
    texts = (["ab", "c"], ["a", "bc"], ["abc", ""], ["abc", None], [None, "abc"], ["c", "ab"])
    found = {of_table("own", pa.table({"c": pa.array(text, pa.string())})) for text in texts}
    assert len(found) == len(texts)


def test_rows_exchanged_and_names_exchanged_count() -> None:
    turned = TABLE.take([1, 0, 2, 3])
    renamed = pa.table({"b": TABLE["a"], "a": TABLE["b"], "c": TABLE["c"]})
    assert len({of_table("own", table) for table in (TABLE, turned, renamed)}) == 3


def test_texts_without_letters_have_a_digest() -> None:
    empty = [of_table("own", pa.table({"c": pa.array([""] * n, pa.string())})) for n in range(3)]
    assert len(set(empty)) == 3


@pytest.mark.parametrize("values", [[True], [[1]], [{"a": 1}], [b"x"]])
def test_values_of_other_types_have_none(values: list[object]) -> None:
    with pytest.raises(pa.ArrowException, match="column c is of type"):
        of_table("own", pa.table({"c": values}))


def flows_of(*rows: tuple[str | None, int | None]) -> pa.Table:
    """Flows of these variants, each with 1 for SACK or 0; no column without any."""
    names, sack = zip(*rows, strict=True)
    columns = {"flow": pa.array([f"f{i}" for i in range(len(rows))])}
    columns |= {"congestion_control": pa.array(names, pa.string()), "sack": pa.array(sack, "int64")}
    return pa.table(columns)


def test_sack_counts_where_it_is_not_what_the_variant_says() -> None:
    """So a run has the digest that it had before the column."""
    usual = flows_of(("cubic", 1), ("newreno", 0), (None, 1), ("tahoe", None))
    before = of_table("flows", usual.drop_columns(["sack"]))
    assert of_table("flows", usual) == before
    parts = TableDigest("flows")
    for at in range(len(usual)):
        parts.add(usual.slice(at, 1))
    assert parts.hexdigest() == before
    for row, value in ((0, 0), (1, 1), (2, 0), (3, 1), (0, 2)):
        sack = [1, 0, 1, None]
        sack[row] = value
        other = flows_of(*zip(("cubic", "newreno", None, "tahoe"), sack, strict=True))
        assert of_table("flows", other) != before
    assert of_table("own", usual) != of_table("own", usual.drop_columns(["sack"]))
