# SPDX-License-Identifier: Apache-2.0
"""The line to a network that somebody plays with: what it carries, and its end."""

import json
import threading
from contextlib import closing

import pytest

from hoplab.host.runs.session import LONGEST_REQUEST, Line
from hoplab.model.errors import HoplabError


def answer(line: Line) -> int:
    """Answer one request, as the lab inside does; returns how long it was."""
    came = b""
    while not came.endswith(b"\n"):
        came += line.other.recv(1 << 16)
    line.other.sendall(json.dumps({"id": json.loads(came)["id"], "ok": True}).encode() + b"\n")
    return len(came)


def test_a_request_that_the_line_does_not_take_whole_is_refused() -> None:
    with closing(Line()) as line:
        with pytest.raises(HoplabError, match=f"the longest is {LONGEST_REQUEST}$"):
            line.ask({"do": "x" * LONGEST_REQUEST})
        # What grows when it is written anew is measured as written.
        with pytest.raises(HoplabError, match="the longest is"):
            line.ask({"do": [1e15] * (LONGEST_REQUEST // 8)})
        lengths: list[int] = []
        inside = threading.Thread(target=lambda: lengths.append(answer(line)))
        inside.start()
        assert line.ask({"do": "x" * (LONGEST_REQUEST - 100)}) == {}
        inside.join()
        assert lengths[0] <= LONGEST_REQUEST


def test_who_waits_for_an_answer_when_the_line_ends_is_told_so() -> None:
    line, told = Line(), []

    def ask() -> None:
        with pytest.raises(HoplabError) as caught:
            line.ask({"do": "end"})
        told.append(str(caught.value))

    asking = threading.Thread(target=ask)
    asking.start()
    assert line.other.recv(100)
    line.close()
    asking.join()
    assert told == ["the network has ended"]
