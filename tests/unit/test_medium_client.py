# SPDX-License-Identifier: Apache-2.0
"""What a session asks of its medium, over a socket."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoplab.guest.lab.channel import MediumClient
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.model.errors import ScenarioError


@pytest.fixture
def medium(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "medium"))
        yield made


def test_each_request_has_its_own_answer(tmp_path: Path, medium: socket.socket) -> None:
    """One that comes late answers none; without any that is late nothing is waited for."""
    answers = [[b"ok", b"too late"], [b"ok"], [b"no such station"]]
    sent = threading.Semaphore(0)

    def serve() -> None:
        for those in answers:
            _, client = medium.recvfrom(4096)
            for answer in those:
                medium.sendto(answer, client)
            sent.release()

    server = threading.Thread(target=serve)
    server.start()
    with CleanUp() as undo:
        ask = MediumClient(tmp_path / "medium", undo).ask
        for _ in range(2):
            ask({"do": "move"})
            sent.acquire()
        with pytest.raises(ScenarioError, match="no such station"):
            ask({"do": "move"})
    server.join()
