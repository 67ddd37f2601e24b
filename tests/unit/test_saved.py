# SPDX-License-Identifier: Apache-2.0
"""What a command that keeps networks may say to others; without a guest."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.machine import saved
from hoplab.host.machine.saved import KIND, Place

GOOD: dict[str, Any] = {
    "pid": 7,
    "memory": "/dev/shm/m",
    "home": "/home",
    "results": "/r",
    "room": "/runs",
}
HOSTILE = {
    "nothing": b"",
    "no JSON": b"{",
    "nested": b"[" * 10000,
    "no object": b"[1]",
    "lacking": json.dumps({key: GOOD[key] for key in ("pid", "home")}).encode(),
    "more": json.dumps({**GOOD, "more": 1}).encode(),
    "no number": json.dumps({**GOOD, "pid": "7"}).encode(),
    "a truth": json.dumps({**GOOD, "pid": True}).encode(),
    "init's parent": json.dumps({**GOOD, "pid": 0}).encode(),
    "a group": json.dumps({**GOOD, "pid": -1}).encode(),
    "a large number": json.dumps({**GOOD, "pid": 1 << 40}).encode(),
    "a relative path": json.dumps({**GOOD, "home": "../x"}).encode(),
    "no path": json.dumps({**GOOD, "room": 3}).encode(),
    "a byte of no file's": json.dumps({**GOOD, "room": "/a\0b"}).encode(),
    "long": b" " * (saved.LONGEST + 1) + json.dumps(GOOD).encode(),
}


def test_a_place_is_read_as_it_was_said() -> None:
    place = Place(**GOOD)
    assert Place.read(place.message()) == place
    # The longest paths fit, also of bytes that JSON writes as six letters.
    longest = Place(7, *("/" + "\udcff" * 4094 for _ in range(4)))
    assert len(longest.message()) < saved.LONGEST


@pytest.fixture
def said(tmp_path: Path) -> Iterator[Any]:
    """A socket of somebody who says what one likes."""
    with socket.socket(*KIND) as listener:
        listener.bind(str(tmp_path / "saved"))
        listener.listen()

        def saying(message: bytes) -> Path:
            def speak() -> None:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(BrokenPipeError):
                    connection.send(message)

            threading.Thread(target=speak, daemon=True).start()
            return tmp_path / "saved"

        yield saying


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_such_place_is_not_used(said: Any, message: bytes) -> None:
    assert saved._greeted(said(message)) is None


def test_another_users_is_not_used(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    message = Place(**GOOD).message()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 12345)
        assert saved._greeted(said(message)) is None
    found = saved._greeted(said(message))
    assert found is not None
    found[1].close()
    assert found[0] == Place(**GOOD)


def test_one_that_has_gone_is_not_used(tmp_path: Path) -> None:
    with socket.socket(*KIND) as listener:
        listener.bind(str(tmp_path / "saved"))
        listener.listen()
    assert saved._greeted(tmp_path / "saved") is None
    assert saved._greeted(tmp_path / "none") is None
    (tmp_path / "file").touch()
    assert saved._greeted(tmp_path / "file") is None
