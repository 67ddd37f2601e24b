# SPDX-License-Identifier: Apache-2.0
"""What `hoplab-har` reads of an HTTP archive, and what it makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.traffic import har


def entry(at_s: float, time_ms: float, size: int = 1000, **more: Any) -> dict[str, Any]:
    return {
        "startedDateTime": f"2026-01-01T12:00:{at_s:06.3f}Z",
        "time": time_ms,
        "request": {"url": "https://a.example/x", "headersSize": 300, "bodySize": 0},
        "response": {"headersSize": 200, "bodySize": size, "content": {"size": 3 * size}},
        **more,
    }


def read(tmp_path: Path, *entries: Any) -> list[har.Object]:
    path = tmp_path / "page.har"
    path.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    return har.read(str(path))


def test_an_object_waits_for_the_one_that_ended_last_before_it(tmp_path: Path) -> None:
    found = read(tmp_path, entry(0, 100), entry(0.15, 300), entry(0.16, 40), entry(0.25, 10))
    assert [wanted.after for wanted in found] == [None, 0, 0, 2]
    assert [round(wanted.pause_s, 3) for wanted in found] == [0, 0.05, 0.06, 0.05]


def test_objects_that_begin_with_the_page_wait_for_none(tmp_path: Path) -> None:
    found = read(tmp_path, entry(1, 500), entry(1.2, 500))
    assert [(o.after, round(o.pause_s, 3)) for o in found] == [(None, 0), (None, 0.2)]


def test_no_object_waits_for_itself(tmp_path: Path) -> None:
    """Some archives have objects that took no time."""
    found = read(tmp_path, entry(1, 0), entry(1, 0))
    assert [wanted.after for wanted in found] == [None, 0]


def test_sizes_are_head_and_body(tmp_path: Path) -> None:
    (found,) = read(tmp_path, entry(0, 1))
    assert (found.request_bytes, found.response_bytes) == (300, 1200)


@pytest.mark.parametrize(
    ("response", "octets"),
    [
        ({"headersSize": -1, "bodySize": -1, "content": {"size": 5000}}, 5300),
        ({"headersSize": 9, "bodySize": 9, "content": {}, "_transferSize": 7000}, 7000),
        ({"headersSize": 0, "bodySize": 0, "content": {"size": 0}}, har.LEAST_RESPONSE),
        ({}, har.USUAL_RESPONSE_HEAD),
    ],
)
def test_sizes_that_the_archive_lacks(
    tmp_path: Path, response: dict[str, Any], octets: int
) -> None:
    assert read(tmp_path, entry(0, 1, response=response))[0].response_bytes == octets


def test_what_came_from_the_cache_is_not_fetched(tmp_path: Path) -> None:
    found = read(tmp_path, entry(0, 1), entry(1, 1, _fromCache="memory"), entry(2, 1))
    assert [(wanted.number, wanted.after) for wanted in found] == [(0, None), (1, 0)]


@pytest.mark.parametrize("size", [128, 140, 1000, 1071, 10_071, 99_999, 100_072])
def test_messages_are_as_long_as_the_archive_says(size: int) -> None:
    wanted = har.Object(7, "https://a/x", "https://a", size, size, None, 0.0)
    assert len(har.request_of(wanted)) == size
    answer = har.response_of(wanted)
    head, _, body = answer.partition(har.HEAD_END)
    assert int(head.rpartition(b" ")[2]) == len(body)
    assert len(answer) == size


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("<html>", "is no HTTP archive"),
        ('{"log": []}', "is no HTTP archive"),
        ('{"log": {"entries": []}}', "expected a list of 1 to"),
        ('{"log": {"entries": [1]}}', "not as HAR 1.2 has it"),
        ('{"log": {"entries": [{"startedDateTime": "x", "time": 1}]}}', "not as HAR 1.2 has it"),
        (json.dumps({"log": {"entries": [entry(0, 1, request={})]}}), "not as HAR 1.2 has it"),
        ("[" * 100_000, "is no HTTP archive"),
    ],
)
def test_a_bad_archive_is_one_line(
    tmp_path: Path, text: str, mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.har"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        har.main(["serve", str(path)])
    said = str(ended.value)
    assert said.startswith(f"hoplab-har: {path}: ") and mistake in said and "\n" not in said


def test_an_archive_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cannot be read: No such file"):
        har.main(["load", str(tmp_path / "none.har"), "n1"])
