# SPDX-License-Identifier: Apache-2.0
"""A server for what is sent to one."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest


class Receiver:
    """An HTTP server that answers as it is received."""

    def __init__(self) -> None:
        self.status, self.body = 204, b""
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.url = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    received = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            received.requests.append((self.path, dict(self.headers), self.rfile.read(length)))
            self.send_response(received.status)
            self.send_header("Content-Length", str(len(received.body)))
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(received.body)

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        received.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield received
        server.shutdown()
        thread.join()
