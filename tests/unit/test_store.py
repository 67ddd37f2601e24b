# SPDX-License-Identifier: Apache-2.0
"""The store of runs: what is kept comes back, a half-written or damaged file does not."""

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.results import arrow, digests
from hoplab.many.store import apart
from hoplab.many.store import entry as entries
from hoplab.many.store.entry import Entry
from hoplab.many.store.files import Store
from hoplab.model.errors import ResultsError
from tests.scenarios import ONE_HOP, of_a_run

KEY = "ab" + "0" * 62


def a_table(name: str, rows: int) -> Any:
    schema = arrow.schema(arrow.TABLES[name])
    values = {"string": "x", "integer": 7, "float": 0.1}
    row = {c.name: values[c.type] for c in arrow.TABLES[name].columns if c.null is None}
    if name == "flows":
        row["protocol"] = "tcp"
    if name == "tcp":
        row["ca_state"] = "Open"
    whole = [{**dict.fromkeys(schema.names), **row} for _ in range(rows)]
    return arrow.from_rows(name, whole, "test")


TABLES = {"flows": a_table("flows", 2), "tcp": a_table("tcp", 50)}


def entry(*kept: str, key: str = KEY, **more: Any) -> Entry:
    found = {name: digests.of_table(name, table) for name, table in TABLES.items()}
    head = {
        "key": key,
        "machine": "m",
        "scenario": of_a_run("duration_s = 1\n" + ONE_HOP),
        "digest": digests.Digests(found, {}).digest,
        "digests": found,
        **more,
    }
    return entries.made(head, {name: TABLES[name] for name in kept})


def test_what_is_kept_comes_back_with_units_and_types(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(entry("flows"))
    found = store.get(KEY)
    assert found is not None and found.damage() is None
    assert found.table("flows").equals(TABLES["flows"])
    assert found.table("flows").schema.equals(TABLES["flows"].schema, check_metadata=True)
    assert list(store) == [KEY]
    assert store.get("cd" + "0" * 62) is None
    # A table that the run had no rows for, one that was not kept, one that there is not.
    assert found.table("frames").num_rows == 0
    with pytest.raises(ResultsError, match="tcp was not kept"):
        found.table("tcp")
    with pytest.raises(ResultsError, match="no table"):
        found.table("speeds")
    assert found.has(["flows", "frames"]) and not found.has(["tcp"])


def test_a_later_run_adds_its_tables_and_loses_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(entry("flows"))
    both = store.put(entry("tcp"))
    assert both.tables == ("flows", "tcp")
    assert store.put(entry("flows")).tables == ("flows", "tcp")
    found = store.get(KEY)
    assert found is not None and found.tables == ("flows", "tcp") and found.damage() is None


def test_runs_of_one_key_that_differ_are_told(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(entry("flows"))
    other = entry("flows", digest="0" * 64, digests={"flows": "1" * 64})
    with pytest.raises(ResultsError, match="was not repeatable"):
        store.put(other)


def test_a_failure_is_kept_and_gives_way_to_a_run_that_ends_well(tmp_path: Path) -> None:
    store = Store(tmp_path)
    failure = entries.failed({"key": KEY, "machine": "m", "scenario": {}}, "no space", 5)
    store.put(failure)
    found = store.get(KEY)
    assert found is not None and found.error == "no space" and found.digest is None
    store.put(entry("flows"))
    assert store.put(failure).error is None
    found = store.get(KEY)
    assert found is not None and found.error is None


@pytest.mark.parametrize("spoil", ["cut", "bit", "empty", "swapped"])
def test_a_damaged_file_counts_as_none_and_is_replaced(tmp_path: Path, spoil: str) -> None:
    store = Store(tmp_path)
    store.put(entry("flows", "tcp"))
    path = store.path(KEY)
    content = bytearray(path.read_bytes())
    if spoil == "bit":
        content[-3] ^= 1
    if spoil == "swapped":
        content = bytearray(entries.pack(entry("flows", key="cd" + "0" * 62)))
    path.write_bytes(content[: {"cut": -1, "empty": 0}.get(spoil, len(content))])
    assert store.get(KEY) is None
    store.put(entry("flows"))
    assert store.get(KEY) is not None


def test_hostile_entries_are_refused() -> None:
    good = entries.pack(entry("flows"))
    for at in range(0, len(good), 7):
        spoilt = bytearray(good)
        spoilt[at] ^= 0xFF
        with pytest.raises(ResultsError):
            entries.unpack(bytes(spoilt), "x")
    import hashlib

    for body in (b"", b"hoplab\x00\x01", b"hoplab\x00\x01" + b"\xff" * 8, good[32:-1]):
        with pytest.raises(ResultsError):
            entries.unpack(hashlib.sha256(body).digest() + body, "x")


def test_the_list_tells_runs_of_one_title_apart() -> None:
    base = {"title": "t", "seed": 1, "flow": [{"window": 8, "name": "a"}], "routing": {"p": "dsr"}}
    other = {**base, "seed": 2, "flow": [{"name": "a"}]}
    third = {**base, "station": [{"x_m": 1.0}], "link": []}
    alone = {**base, "title": "another", "duration_s": 3}
    assert apart.keys([base, other, third, alone]) == [
        {"flow.0.window": 8},
        {"flow.0.window": None},
        {"flow.0.window": 8},
        {},
    ]


def test_a_key_is_no_way_out_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no key of a run"):
        Store(tmp_path).path("../../etc/passwd")


def _write_for_ever(folder: Path, number: int) -> None:
    store = Store(folder)
    names = ("flows",) if number else ("tcp",)
    while True:
        for i in range(8):
            store.put(entry(*names, key=f"{i:02x}" + "0" * 62))
            store.remove(f"{(i + 4) % 8:02x}" + "0" * 62)


def test_the_store_survives_two_writers_that_are_killed_at_any_instant(tmp_path: Path) -> None:
    started = multiprocessing.get_context("fork")
    for round_ in range(6):
        writers = [started.Process(target=_write_for_ever, args=(tmp_path, i)) for i in (0, 1)]
        for writer in writers:
            writer.start()
        time.sleep(0.15 + 0.017 * round_)
        for writer in writers:
            assert writer.pid is not None
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
        store = Store(tmp_path)
        for key in store:
            found = store.get(key)
            assert found is not None, "a file under its name is whole"
            assert found.damage() is None
    store.put(entry("flows", "tcp"))  # nobody holds a lock any more
    left = list(store.leftovers(0))
    assert all(path.name.startswith(".new-") for path in left)
    assert list(store.leftovers()) == []  # one that is being written is nobody's leftover
