# SPDX-License-Identifier: Apache-2.0
"""The page's server, and clients that are no page of it."""

import http.client
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from hoplab.host.serving import MAX_CONNECTIONS
from hoplab.model.errors import HoplabError
from hoplab.show.live import server as module
from hoplab.show.live.course import MAX_POINTS
from hoplab.show.live.server import MAX_BODY_BYTES, MAX_PAGES, Server
from hoplab.show.live.view import Cursor, View
from tests.page import busy
from tests.page.conftest import chain, row

pytestmark = pytest.mark.chance
PATIENCE_S = 3600.0
"""For what is done at once: a test that waits so long hangs."""


def ask(
    url: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of an answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


class Follower:
    """A page's own requests."""

    def __init__(self, server: Server, name: str = "page") -> None:
        self._url = f"{server.url}news?page={name}&has="
        self.has = 0

    def message(self) -> dict[str, Any]:
        status, text, _ = ask(f"{self._url}{self.has}")
        assert status == 200
        self.has += 1
        found: dict[str, Any] = json.loads(text)
        return found


def raw(server: Server) -> socket.socket:
    parts = urlsplit(server.url)
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=PATIENCE_S)


def origin(server: Server) -> str:
    return server.url.split("/", 3)[0] + "//" + urlsplit(server.url).netloc


@pytest.fixture
def asked() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def taking_part(view: View, asked: list[dict[str, Any]]) -> Any:
    def act(what: dict[str, Any]) -> dict[str, Any]:
        if what.get("do") == "fly":
            raise HoplabError("fly: no station can")
        asked.append(what)
        return {"done": True}

    made = Server(view, act)
    made.start()
    yield made
    made.close()


def test_a_page_is_told_all_at_first_and_then_what_came(server: Server, view: View) -> None:
    view.add_all("tcp", [row("tcp", t_s=0.1, flow="flow0", cwnd=2, ca_state="Open")])
    follower = Follower(server)
    first = follower.message()
    assert first["about"]["stations"] == ["n0", "n1", "n2"]
    assert [trace["y"] for trace in first["over_time"]["data"]] == [[0.0], [2.0], [0.0]]
    view.add_all("tcp", [row("tcp", t_s=0.2, flow="flow0", cwnd=3, ca_state="Open")])
    second = follower.message()
    assert "about" not in second and "over_time" not in second
    assert second["points"][1] == [1, [0.2], [3.0]]
    # A page that missed an answer receives all again.
    view.tell("running")
    follower.has -= 1
    assert "about" in follower.message()


def test_a_flow_that_is_not_sampled_any_more_has_stopped(view: View) -> None:
    for tenth in range(30):
        rows = [row("tcp", t_s=tenth / 10, flow="flow0", cwnd=tenth, ca_state="Open")]
        view.add_all("tcp", rows if tenth < 15 else [])
        view.add_all("nodes", [row("nodes", t_s=tenth / 10, node="n0")])
    (now,) = json.loads(view.message(Cursor()) or "")["flows"]
    assert now == {**dict.fromkeys(now), "flow": "flow0", "state": "stopped"}
    (then,) = json.loads(view.moment(1.2))["flows"]
    assert (then["cwnd"], then["state"]) == (12, "Open")
    assert json.loads(view.moment(2.0))["flows"][0]["cwnd"] == 14


def test_the_page_escapes_and_loads_nothing_from_elsewhere(server: Server) -> None:
    status, text, headers = ask(server.url)
    assert status == 200
    assert "A &lt;b&gt;chain&lt;/b&gt; &amp; more" in text and "<b>chain" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN"
    for name in ("plotly.js", "live.js", "figures.js", "report.css", "live.css"):
        assert ask(server.url + name)[0] == 200


@pytest.mark.parametrize("token", ["", "x", "x" * 32, "x" * 8000, "%2e%2e/", "%ff%fe"])
def test_without_the_token_there_is_nothing(server: Server, token: str) -> None:
    for name in ("", "news", "report", "do", "plotly.js"):
        status, text, _ = ask(f"{origin(server)}/{token}/{name}")
        assert status == 403 and "token" in text
    cut = server.url[:-2] + "/"
    assert ask(cut)[0] == 403


def test_other_names_and_other_origins_are_refused(server: Server, taking_part: Server) -> None:
    assert ask(server.url, Host="evil.example")[0] == 403
    assert ask(server.url, Host="127.0.0.1")[0] == 403
    assert ask(server.url, Origin="http://evil.example")[0] == 403
    assert ask(server.url, Origin="null")[0] == 403
    do = taking_part.url + "do"
    assert ask(do, "POST", b"{}", Origin="http://evil.example")[0] == 403
    assert ask(do, "POST", b"{}")[0] == 403
    assert ask(do, "POST", b"{}", Origin=origin(taking_part))[0] == 200


def test_a_page_that_only_shows_changes_nothing(server: Server) -> None:
    status, text, _ = ask(server.url + "do", "POST", b'{"do": "end"}', Origin=origin(server))
    assert status == 403 and "hoplab shell" in text


def test_what_is_asked_is_done_or_refused_in_a_line(
    taking_part: Server, asked: list[dict[str, Any]]
) -> None:
    do, own = taking_part.url + "do", origin(taking_part)
    assert ask(do, "POST", b'{"do": "end"}', Origin=own)[:2] == (200, '{"done": true}')
    assert asked == [{"do": "end"}]
    assert ask(do, "POST", b'{"do": "fly"}', Origin=own)[:2] == (422, "fly: no station can")
    refused = [b"", b"[]", b"nul", b"\xff\xfe", b"[" * 4000, b'"' + b"x" * MAX_BODY_BYTES]
    # Not what JSON has but no page sends, either: a place that is no number, things in things.
    values = (b"NaN", b"-Infinity", b"1e999", b"1" + b"0" * 400, b"null", b"[1]", b'{"x": 1}')
    refused += [b'{"do": "move", "station": "n1", "y_m": 0, "x_m": %s}' % value for value in values]
    refused.append(b'{"do": ' + b"[" * 500 + b"]" * 500 + b"}")
    for body in refused:
        status, text, _ = ask(do, "POST", body, Origin=own)
        assert status in (400, 413), body[:20]
        assert "\n" not in text
    for t in ("", "x", "nan", "inf", "-1", "1e400"):
        assert ask(f"{taking_part.url}moment?t={t}")[0] == 400
    assert ask(f"{taking_part.url}moment?t=3")[0] == 200
    assert ask(f"{taking_part.url}../../../etc/passwd")[0] in (403, 404)
    assert asked == [{"do": "end"}]


def test_a_message_without_end_is_cut_off(taking_part: Server) -> None:
    parts = urlsplit(taking_part.url)
    with raw(taking_part) as client:
        head = f"POST {parts.path}do HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        head += f"Origin: {origin(taking_part)}\r\nContent-Length: 1000000000\r\n\r\n"
        client.sendall(head.encode())
        sent = 0
        with pytest.raises(OSError):
            while sent < 200_000_000:
                sent += client.send(b"x" * 65_536)
    assert sent < 20_000_000
    with raw(taking_part) as client, pytest.raises(OSError):
        for _ in range(4000):
            client.sendall(b"X-Long: " + b"y" * 8000 + b"\r\n")
    assert ask(taking_part.url)[0] == 200


def test_a_request_that_is_longer_than_any_page_sends_is_refused_in_a_line(
    taking_part: Server, asked: list[dict[str, Any]]
) -> None:
    where, page = f"{taking_part.url}do", origin(taking_part)
    for octets in (MAX_BODY_BYTES + 1, 3998, 4096):
        body = json.dumps({"do": "x" * (octets - len('{"do": ""}'))}).encode()
        assert len(body) == octets
        status, text, _ = ask(where, "POST", body, Origin=page)
        assert (status, text) == (413, f"the request is longer than {MAX_BODY_BYTES} bytes")
    assert asked == []
    assert ask(where, "POST", b'{"do": "end"}', Origin=page)[0] == 200


def test_nothing_of_a_client_is_printed(
    view: View, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Not what is no HTTP, nor what fails, nor what is under way when the server ends."""
    begun, over = threading.Event(), threading.Event()

    def act(what: dict[str, Any]) -> dict[str, Any]:
        if what["do"] == "fail":
            raise RuntimeError("a fault of ours")
        begun.set()
        over.wait(10)
        return {}

    made = Server(view, act)
    made.start()
    for junk in (b"\x16\x03\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        with raw(made) as client:
            client.sendall(junk)
            while client.recv(1000):
                pass
    status, _, _ = ask(f"{made.url}do", "POST", b'{"do": "fail"}', Origin=origin(made))
    assert status == 500
    with raw(made) as client:
        parts, body = urlsplit(made.url), b'{"do": "wait"}'
        head = f"POST {parts.path}do HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        head += f"Origin: {origin(made)}\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        assert begun.wait(10)
        made.close()
        over.set()
    made.close()  # the thread has ended
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_connections_without_a_request_end_and_keep_nobody_out(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REQUEST_LIMIT_S", 0.5)
    idle = [raw(server) for _ in range(MAX_CONNECTIONS + 10)]
    for client in idle[::2]:
        client.sendall(b"GET / HT")
    while ask_or_none(server.url) != 200:
        time.sleep(0.1)
    for client in idle:
        client.settimeout(PATIENCE_S)
        assert client.recv(1000) is not None  # ended, by an answer or without
        client.close()
    # A client that has sent a whole request once gets no more time for the next half.
    with raw(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT")
        while client.recv(1000):
            pass


def ask_or_none(url: str) -> int | None:
    try:
        return ask(url)[0]
    except OSError:
        return None
    except http.client.HTTPException:
        return None


def test_pages_beyond_those_that_anybody_has_open_are_forgotten(server: Server) -> None:
    followers = [Follower(server, f"page{i}") for i in range(MAX_PAGES + 8)]
    for follower in followers:
        assert "about" in follower.message()
    assert len(server._pages[0]._followers) == MAX_PAGES
    # Which costs the page nothing but another start.
    assert "about" in followers[0].message()
    for name in ("", "x" * 33):
        assert ask(f"{server.url}news?page={name}&has=0")[0] == 400
    for has in ("", "-1", "x", "9" * 40):
        assert ask(f"{server.url}news?page=p&has={has}")[0] == 400


def test_a_page_that_does_not_read_holds_up_nobody(server: Server, view: View) -> None:
    parts = urlsplit(server.url)
    with raw(server) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = f"GET {parts.path}news?page=stuck&has=0 HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
        stuck.sendall(request.encode() * 50)
        for i in range(1, 20_001):  # which ends only if nobody waits for that page
            sample = row("tcp", t_s=i / 1000, flow="flow0", cwnd=i % 50, ca_state="Open")
            view.add_all("tcp", [sample])
        assert Follower(server).message()["t_s"] == 20.0


def test_nothing_new_is_told_after_a_while(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOLD_S", 0.2)
    follower = Follower(server)
    follower.message()
    assert ask(f"{server.url}news?page=page&has=1")[:2] == (200, "null")


def test_a_run_that_is_over_gives_its_report_to_its_page(
    server: Server, view: View, tmp_path: Any
) -> None:
    report = tmp_path / "report.html"
    report.write_text("<p>the report")
    follower = Follower(server)
    follower.message()
    assert ask(server.url + "report")[0] == 404
    end = threading.Thread(target=server.finish, args=(report, PATIENCE_S))
    end.start()
    assert follower.message()["status"] == "over"
    assert end.is_alive()
    assert ask(server.url + "report")[:2] == (200, "<p>the report")
    end.join()


def test_another_future_has_a_page_beside_its_runs(
    server: Server, view: View, tmp_path: Any
) -> None:
    """The server goes on until it has its report, and so long as a user looks at what was."""
    report = tmp_path / "report.html"
    report.write_text("<p>the report")
    address, future = server.add(View(chain(3)))
    assert ask(server.url + address)[0] == ask(f"{server.url}{address}live.js")[0] == 200
    here = Follower(server)
    here.message()
    end = threading.Thread(target=server.finish, args=(report, 0.0))
    end.start()
    assert here.message()["status"] == "over"
    assert end.is_alive()  # for the future goes on
    status, _, _ = ask(f"{server.url}news?page=page&has=0&holds")
    assert status == 200
    future.finish(report)
    assert ask(f"{server.url}{address}report")[:2] == (200, "<p>the report")
    assert end.is_alive()  # for a user looks at what was
    assert ask(server.url + "report")[0] == 200
    end.join()


def test_a_page_with_futures_takes_no_other_part(view: View) -> None:
    made = Server(view, lambda asked: asked, has_futures=True)
    made.start()
    text = ask(made.url)[1]
    assert 'id="what-if"' in text and 'id="new-flow"' not in text and "drag.js" not in text
    made.close()


def test_nobody_waits_for_pages_that_are_not_there(server: Server, tmp_path: Any) -> None:
    server.finish(tmp_path / "report.html", PATIENCE_S)


def test_a_page_is_told_that_its_run_failed_before_its_server_ends(server: Server) -> None:
    here = Follower(server)
    here.message()
    end = threading.Thread(target=server.finish, args=(None, PATIENCE_S))
    end.start()
    end.join(1.0)
    assert end.is_alive()
    told = here.message()
    assert (told["status"], told["note"]) == ("failed", "no report")
    end.join()


def test_thirty_stations_at_ten_hertz_stay_bounded() -> None:
    view = busy.told(seconds=20)
    for step in range(3 * MAX_POINTS):
        view.add_all("nodes", [row("nodes", t_s=20 + step, node="n0", x_m=step % 7, y_m=0.0)])
    assert len(view._course._ways["n0"].points) <= MAX_POINTS
