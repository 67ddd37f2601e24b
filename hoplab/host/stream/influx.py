# SPDX-License-Identifier: Apache-2.0
"""A sink that posts Influx line protocol: to VictoriaMetrics, InfluxDB, Telegraf, Grafana Live."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

import urllib3

from hoplab.host.stream.line import Encoder
from hoplab.host.stream.sink import Batch, Course, Refused, Sink, Unavailable
from hoplab.model.errors import ScenarioError

TOKEN = "HOPLAB_INFLUX_TOKEN"
DEFAULT_PATH = "/write"
"""Path at which VictoriaMetrics, InfluxDB 1 and Telegraf take it."""
GRAFANA_PATH = "/api/live/push/"
TIMEOUT = urllib3.Timeout(connect=2.0, read=5.0)
SECRETS = {"token", "p", "password"}
AGAIN_LATER = {408, 425, 429}
ANSWER_BYTES = 300


class Influx(Sink):
    """Posts to one URL. The token is in `HOPLAB_INFLUX_TOKEN`, because others can see command
    lines."""

    every_s = 0.25
    is_database = True

    def __init__(self, url: str) -> None:
        """Raises `ScenarioError` for an impossible URL."""
        self.name = url
        self._url = endpoint(url)
        self._headers = {"Content-Type": "text/plain; charset=utf-8", **_authorization(self._url)}
        self._pool = urllib3.PoolManager(timeout=TIMEOUT, retries=False, maxsize=1)
        self._encoder: Encoder | None = None
        self._of: Sequence[Batch] = ()
        self._text = b""

    def begin(self, course: Course) -> None:
        self._encoder = Encoder(course)

    def take(self, batches: Sequence[Batch]) -> None:
        if self._of is not batches:  # otherwise they are offered again
            assert self._encoder is not None
            self._of, self._text = batches, self._encoder.text(batches)
        self.write(self._text)

    def write(self, text: bytes) -> None:
        """Send lines. Raises `Unavailable` or `Refused`."""
        if text:
            post(self._pool, self._url, self._headers, text)

    def end(self) -> None:
        self._pool.clear()


def post(pool: urllib3.PoolManager, url: str, headers: dict[str, str], text: bytes) -> None:
    """Post lines to the URL. Raises `Unavailable` or `Refused`."""
    try:
        # A redirection would take the token elsewhere.
        answer = pool.request(
            "POST", url, body=text, headers=headers, redirect=False, preload_content=False
        )
        try:
            said = answer.read(ANSWER_BYTES)
        finally:
            answer.close()  # do not wait for the rest of an answer
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Unavailable(_reason(error)) from None
    if 200 <= answer.status < 300:
        return
    reason = f"HTTP {answer.status}"
    if said := said.strip():
        reason += f": {' '.join(said.decode('utf-8', 'replace').split())}"
    if answer.status >= 500 or answer.status in AGAIN_LATER:
        raise Unavailable(reason)
    if answer.status in (401, 403):
        reason += f"; put a token for it into {TOKEN}"
    raise Refused(reason)


def endpoint(url: str) -> str:
    """Return the URL to post to. Raises `ScenarioError` for an impossible one."""
    try:
        parts = urlsplit(url)
        port_is_known = parts.port is None or parts.port > 0
    except ValueError as error:
        raise ScenarioError(f"--influx: {url!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_known:
        raise ScenarioError(f"--influx: {url!r} is no URL; expected http://HOST:PORT")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ScenarioError(f"--influx: {url!r} has blanks or control characters in it")
    given = {name.lower() for name, _ in parse_qsl(parts.query)}
    if parts.username is not None or parts.password is not None or given & SECRETS:
        raise ScenarioError(
            f"--influx: the URL has a password or token in it, which others can see; "
            f"put it into the environment variable {TOKEN}"
        )
    if parts.path in ("", "/"):
        parts = parts._replace(path=DEFAULT_PATH)
    return parts._replace(fragment="").geturl()


def _authorization(url: str) -> dict[str, str]:
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        return {}
    if not token.isascii() or not token.isprintable():
        raise ScenarioError(f"{TOKEN}: has characters that no token has")
    if " " not in token:
        # InfluxDB's own word for it, and all others'.
        scheme = "Bearer" if urlsplit(url).path.startswith(GRAFANA_PATH) else "Token"
        token = f"{scheme} {token}"
    return {"Authorization": token}


def _reason(error: Exception) -> str:
    """Return the innermost cause: "connection refused", without addresses of objects."""
    reason: BaseException = getattr(error, "reason", None) or error
    while reason.__cause__ is not None:
        reason = reason.__cause__
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    if isinstance(reason, urllib3.exceptions.TimeoutError | TimeoutError):
        return "no answer in time"
    return type(reason).__name__
