# SPDX-License-Identifier: Apache-2.0
"""A web page's load, by the objects of an HTTP archive (HAR 1.2, as browsers save it).

    hoplab-har serve FILE [--port 80]
    hoplab-har load FILE HOST [--port 80] [--connections 6] [--pages 1] [--think S]

The server answers HTTP/1.1 (RFC 9112) with as many octets as the archive says. The client asks as a
browser does. In the archive, each object follows the object that ended last before it. The client
requests an object when that one has ended, after the same pause. It keeps up to six connections
open to each origin. All origins' objects come from the one host. A page is loaded when its last
object is.

The program is run by path, on the standard library alone, because a run must not depend on
installed packages.
"""

from __future__ import annotations

import argparse
import collections
import csv
import datetime
import json
import os
import selectors
import socket
import sys
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LEAST_REQUEST, LEAST_RESPONSE = 64, 128
"""Octets that the necessary header lines take at most. Shorter messages are made this long."""
USUAL_REQUEST, USUAL_RESPONSE_HEAD = 400, 300
"""Sizes for an archive that does not know them, as with HTTP/2, whose headers are compressed."""
MOST_OBJECTS = 2000
MOST_OCTETS = 1 << 28
CHUNK_BYTES = 1 << 16
HEAD_END = b"\r\n\r\n"


class BadArchive(Exception):
    """The error of a file, in one line."""


@dataclass(frozen=True)
class Object:
    """An object of a page, and the object that it waits for."""

    number: int
    url: str
    origin: str
    request_bytes: int
    response_bytes: int
    after: int | None
    """The object whose end it waits for; None for the first ones."""
    pause_s: float
    """Seconds from that end, or from the page's start."""


def read(path: str) -> list[Object]:
    """Return the objects of an archive, in its order. Raises `BadArchive`."""
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8-sig"))["log"]["entries"]
    except OSError as error:
        raise BadArchive(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadArchive(f"{path}: is no HTTP archive: there is no log.entries in it") from None
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_OBJECTS:
        raise BadArchive(f"{path}: log.entries: expected a list of 1 to {MOST_OBJECTS} objects")
    try:
        fetched = [entry for entry in entries if not entry.get("_fromCache")]
        times = [_times(entry) for entry in fetched]
        first = min((begin for begin, _ in times), default=0.0)
        return [_object(number, entry, times, first) for number, entry in enumerate(fetched)]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadArchive(
            f"{path}: log.entries: an object is not as HAR 1.2 has it: {error}"
        ) from None


def _times(entry: dict[str, Any]) -> tuple[float, float]:
    """Return when an object began and ended, in s of the archive's own clock."""
    text = str(entry["startedDateTime"]).replace("Z", "+00:00")
    begin = datetime.datetime.fromisoformat(text).timestamp()
    return begin, begin + max(0.0, float(entry["time"])) / 1000


def _object(
    number: int, entry: dict[str, Any], times: list[tuple[float, float]], first: float
) -> Object:
    begin, _ = times[number]
    last = max(
        (
            (end, i)
            for i, (before, end) in enumerate(times)
            # Of two objects that began at once and took no time, one must be the first.
            if end <= begin and (before, i) < (begin, number)
        ),
        default=None,
    )
    url = str(entry["request"]["url"])
    parts = urllib.parse.urlsplit(url)
    request, response = entry["request"], entry["response"]
    return Object(
        number,
        url,
        f"{parts.scheme}://{parts.netloc}",
        max(LEAST_REQUEST, _known(request.get("headersSize"), USUAL_REQUEST) + _body(request)),
        max(LEAST_RESPONSE, _transferred(response)),
        None if last is None else last[1],
        begin - (first if last is None else last[0]),
    )


def _known(size: Any, otherwise: int) -> int:
    """Return a size from the archive; -1 there means that it is unknown."""
    return otherwise if size is None or int(size) < 0 else min(int(size), MOST_OCTETS)


def _body(message: dict[str, Any]) -> int:
    return _known(message.get("bodySize"), 0)


def _transferred(response: dict[str, Any]) -> int:
    """Return the octets of a response: Chromium's own count, or head and body."""
    if _known(response.get("_transferSize"), 0):
        return _known(response["_transferSize"], 0)
    content = _known((response.get("content") or {}).get("size"), 0)
    return _known(response.get("headersSize"), USUAL_RESPONSE_HEAD) + _known(
        response.get("bodySize"), content
    )


def request_of(wanted: Object) -> bytes:
    """Return the object's request, as long as in the archive."""
    head = f"GET /{wanted.number} HTTP/1.1\r\nHost: page\r\nX: ".encode()
    return head + b"x" * (wanted.request_bytes - len(head) - len(HEAD_END)) + HEAD_END


def response_of(wanted: Object) -> bytes:
    """Return the object's response, head included, as long as in the archive."""
    fixed = len(_head(" ", ""))
    # A body length with fewer digits makes the head shorter, so a space is added.
    body = next(
        size
        for size in range(wanted.response_bytes - fixed - 1, 0, -1)
        if fixed + len(str(size)) + size <= wanted.response_bytes
    )
    spaces = wanted.response_bytes - fixed - len(str(body)) - body
    return _head(" " * (1 + spaces), str(body)) + bytes(body)


def _head(space: str, length: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length:{space}{length}\r\n\r\n".encode()


class Server:
    """Answers requests of any number of connections, in order on each connection."""

    def __init__(self, objects: list[Object], port: int) -> None:
        self._objects = objects
        self._selector = selectors.DefaultSelector()
        self._socket = socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=128, dualstack_ipv6=True
        )
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._heard: dict[socket.socket, bytes] = {}
        self._owed: dict[socket.socket, collections.deque[memoryview]] = {}

    def run(self) -> None:
        """Serve without end."""
        while True:
            for key, events in self._selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                if connection is self._socket:
                    self._accept()
                    continue
                try:
                    if events & selectors.EVENT_READ:
                        self._read(connection)
                    if events & selectors.EVENT_WRITE and connection in self._owed:
                        self._write(connection)
                except OSError:
                    self._drop(connection)

    def _accept(self) -> None:
        connection, _ = self._socket.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heard[connection], self._owed[connection] = b"", collections.deque()
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        data = connection.recv(CHUNK_BYTES)
        if not data:
            self._drop(connection)
            return
        *asked, self._heard[connection] = (self._heard[connection] + data).split(HEAD_END)
        for head in asked:
            path = head.split(b" ", 2)[1].decode("ascii", "replace").removeprefix("/")
            if not path.isdigit() or int(path) >= len(self._objects):
                self._drop(connection)
                return
            self._owed[connection].append(memoryview(response_of(self._objects[int(path)])))
        if self._owed[connection]:
            self._write(connection)

    def _write(self, connection: socket.socket) -> None:
        owed = self._owed[connection]
        try:
            while owed:
                owed[0] = owed[0][connection.send(owed[0]) :]
                if not owed[0]:
                    owed.popleft()
        except BlockingIOError:
            pass
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if owed else 0)
        self._selector.modify(connection, wanted)

    def _drop(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._heard[connection], self._owed[connection]
        connection.close()


@dataclass
class Pool:
    """The connections to an origin, and the objects that wait for a connection."""

    idle: list[socket.socket] = field(default_factory=list)
    open: int = 0
    waiting: collections.deque[Object] = field(default_factory=collections.deque)


@dataclass
class Fetch:
    """An object on its way."""

    wanted: Object
    begin_s: float
    left: int


class Client:
    """Loads pages, one after the other."""

    def __init__(self, objects: list[Object], host: str, port: int, connections: int) -> None:
        self._objects = objects
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._family, self._address = found[0], found[4]
        self._most = connections
        self._selector = selectors.DefaultSelector()
        self._pools: dict[str, Pool] = collections.defaultdict(Pool)
        self._busy: dict[socket.socket, Fetch] = {}
        self._due: list[tuple[float, int]] = []
        """Objects in their pause, by its end."""
        self.rows: list[tuple[int, str, int, float, float]] = []
        """Rows of the page: each object's number, URL and octets, then when it was requested and
        when it arrived. Times are in s from the page's start."""

    def load(self) -> float:
        """Load the page by new connections. Returns the time that it took in s. Raises
        `ConnectionError`."""
        self.rows = []
        begin_s = time.monotonic()
        self._due = [(begin_s + o.pause_s, o.number) for o in self._objects if o.after is None]
        while len(self.rows) < len(self._objects):
            self._begin_due()
            wait_s = min((due for due, _ in self._due), default=None)
            timeout = None if wait_s is None else max(0.0, wait_s - time.monotonic())
            for key, _ in self._selector.select(timeout):
                assert isinstance(key.fileobj, socket.socket)
                if key.events == selectors.EVENT_WRITE:
                    self._connected(key.fileobj)
                else:
                    self._take(key.fileobj, begin_s)
        took_s = time.monotonic() - begin_s
        for pool in self._pools.values():
            for connection in pool.idle:
                connection.close()
        self._pools.clear()
        return took_s

    def _begin_due(self) -> None:
        now_s = time.monotonic()
        ripe = sorted(number for due, number in self._due if due <= now_s)
        self._due = [(due, number) for due, number in self._due if due > now_s]
        for number in ripe:
            wanted = self._objects[number]
            self._pools[wanted.origin].waiting.append(wanted)
            self._ask(wanted.origin)

    def _ask(self, origin: str) -> None:
        """Give waiting objects to connections, as long as there are any."""
        pool = self._pools[origin]
        while pool.waiting and (pool.idle or pool.open < self._most):
            wanted = pool.waiting.popleft()
            fetch = Fetch(wanted, time.monotonic(), wanted.response_bytes)
            if pool.idle:
                connection = pool.idle.pop(0)
                connection.sendall(request_of(wanted))
                self._selector.register(connection, selectors.EVENT_READ)
            else:
                connection = socket.socket(self._family)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setblocking(False)
                connection.connect_ex(self._address)
                self._selector.register(connection, selectors.EVENT_WRITE)
                pool.open += 1
            self._busy[connection] = fetch

    def _connected(self, connection: socket.socket) -> None:
        if error := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise ConnectionError(f"no connection to {self._address[0]}: {os.strerror(error)}")
        connection.setblocking(True)
        connection.sendall(request_of(self._busy[connection].wanted))
        self._selector.modify(connection, selectors.EVENT_READ)

    def _take(self, connection: socket.socket, begin_s: float) -> None:
        fetch = self._busy[connection]
        data = connection.recv(min(fetch.left, CHUNK_BYTES))
        if not data:
            raise ConnectionError("the server has closed a connection")
        fetch.left -= len(data)
        if fetch.left:
            return
        now_s = time.monotonic()
        self._selector.unregister(connection)
        del self._busy[connection]
        wanted = fetch.wanted
        row = (wanted.number, wanted.url, wanted.response_bytes)
        self.rows.append((*row, fetch.begin_s - begin_s, now_s - begin_s))
        self._due += [
            (now_s + other.pause_s, other.number)
            for other in self._objects
            if other.after == wanted.number
        ]
        self._pools[wanted.origin].idle.append(connection)
        self._ask(wanted.origin)


def serve(options: argparse.Namespace) -> None:
    Server(read(options.file), options.port).run()


def load(options: argparse.Namespace) -> None:
    """Print a line for each page, and write a row of ``objects.csv`` for each object."""
    objects = read(options.file)
    client = Client(objects, options.host, options.port, options.connections)
    octets = sum(wanted.response_bytes for wanted in objects)
    with Path("objects.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("page", "object", "url", "octets", "asked_s", "there_s"))
        for page in range(1, options.pages + 1):
            took_s = client.load()
            for number, url, size, asked_s, there_s in sorted(client.rows):
                table.writerow((page, number, url, size, f"{asked_s:.6f}", f"{there_s:.6f}"))
            print(f"page {page} {took_s:.6f} s {len(objects)} objects {octets} octets", flush=True)
            if page < options.pages:
                time.sleep(options.think)


def _at_least_1(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser("hoplab-har", allow_abbrev=False)
    roles = parser.add_subparsers(required=True)
    server, client = roles.add_parser("serve"), roles.add_parser("load")
    for role in (server, client):
        role.add_argument("file")
        role.add_argument("--port", type=int, default=80)
    server.set_defaults(act=serve)
    client.add_argument("host")
    client.add_argument("--connections", type=_at_least_1, default=6, help="to each origin")
    client.add_argument("--pages", type=_at_least_1, default=1)
    client.add_argument("--think", type=float, default=0.0, help="seconds between pages")
    client.set_defaults(act=load)
    options = parser.parse_args(words)
    try:
        options.act(options)
    except (BadArchive, OSError) as error:
        sys.exit(f"hoplab-har: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
