# SPDX-License-Identifier: Apache-2.0
"""A session, as clients that are no page ask it."""

import http.client
import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.page.started import started

pytestmark = pytest.mark.chance

SCENARIO = """
title = "Three in a line"
duration_s = 1
[topology]
kind = "chain"
stations = 3
"""
ASKED = 24


class Client:
    """Of a session's page, by its URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def asked(self, method: str, name: str, body: bytes | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.host)
        connection.request(method, self.path + name, body, {"Origin": f"http://{self.host}"})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found

    def do(self, **what: Any) -> tuple[int, str]:
        return self.asked("POST", "do", json.dumps(what).encode())

    def wait_for(self, t_s: float) -> None:
        """Wait until the page's clock shows that time."""
        now_s, has = 0.0, 0
        while now_s < t_s:
            code, text = self.asked("GET", f"news?page=test&has={has}")
            assert code == 200, text
            if message := json.loads(text):
                has, now_s = has + 1, message["t_s"]

    def half_asked(self) -> socket.socket:
        """A request that the server waits for the rest of."""
        client = socket.create_connection(tuple(self.host.split(":")))
        head = f"POST {self.path}do HTTP/1.1\r\nHost: {self.host}\r\nOrigin: http://{self.host}\r\n"
        client.sendall(f"{head}Content-Length: 10\r\nExpect: 100-continue\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        return client


def test_a_session_answers_every_request_and_ends_without_a_word(tmp_path: Path) -> None:
    file, out = tmp_path / "line.toml", tmp_path / "session"
    file.write_text(SCENARIO)
    with started("shell", str(file), "--live", "--out", str(out)) as (process, url):
        client = Client(url)
        client.wait_for(0.1)
        assert client.do(do="x" * 4000)[0] == 413
        assert client.do(do="move", station="n1", x_m=210, y_m=10) == (200, "{}")
        # Many at once, each with its own answer.
        with ThreadPoolExecutor(ASKED) as together:
            said = list(together.map(lambda i: client.do(do="stop", flow=f"f{i}"), range(ASKED)))
        for number, (code, text) in enumerate(said):
            assert (code, text) == (422, f"flow: 'f{number}' is not going")
        assert client.do(do="move", station="n1", x_m=220, y_m=10) == (200, "{}")
        # What no page sends: a place that is not a number, a station that does not exist.
        for x_m in (b"NaN", b"1e999", b'"here"', b"true", b"[[[]]]", b"null", b"1" + b"0" * 300):
            body = b'{"do": "move", "station": "n1", "y_m": 0, "x_m": %s}' % x_m
            code, text = client.asked("POST", "do", body)
            assert code in (400, 422) and text and "\n" not in text, (x_m, code, text)
        assert client.do(do="move", station="n9", x_m=0, y_m=0)[0] == 422
        # The session has outlived the scenario, which plans a second.
        client.wait_for(1.5)
        assert client.do(do="move", station="n1", x_m=230, y_m=10) == (200, "{}")
        # One under way: the session's end says nothing of it.
        with client.half_asked():
            process.send_signal(signal.SIGTERM)
            said_last, _ = process.communicate()
    assert process.returncode == 143
    assert said_last.splitlines()[-1] == "hoplab: terminated"
    assert "Traceback" not in said_last and "Cancel" not in said_last
