# SPDX-License-Identifier: Apache-2.0
"""A separate VictoriaMetrics on the loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3

START_LIMIT_S = 20.0
HALF_MS_S = 0.0005
"""Samples have dates in whole ms. A query's date is cut to one, and a float of a whole number of ms
may lie below it."""
Labels = dict[str, str]


class Victoria:
    """Its HTTP interface, as Grafana's Prometheus data source uses it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool = urllib3.PoolManager(retries=False, timeout=10)

    def get(self, path: str, **fields: Any) -> Any:
        """What an interface answers."""
        answer = self._pool.request("GET", self.url + path, fields=fields)
        assert answer.status == 200, answer.data
        return answer.data

    def api(self, path: str, **fields: Any) -> Any:
        """The data of an answer of Prometheus's interface."""
        return json.loads(self.get(f"/prometheus/api/v1/{path}", **fields))["data"]

    def flush(self) -> None:
        """What was written can be found from here on."""
        self.get("/internal/force_flush")
        self.get("/internal/resetRollupResultCache")

    def over_time(
        self, expr: str, begin_s: float, end_s: float, step_s: float
    ) -> list[tuple[Labels, dict[float, float]]]:
        """Every series' labels and its values by date."""
        found = self.api(
            "query_range",
            query=expr,
            start=begin_s + HALF_MS_S,
            end=end_s + HALF_MS_S,
            step=step_s,
            nocache=1,
        )
        return [
            (series["metric"], {round(t, 3): float(v) for t, v in series["values"]})
            for series in found["result"]
        ]

    def now(self, expr: str, at_s: float) -> list[tuple[Labels, float]]:
        """Every series' labels and its value."""
        found = self.api("query", query=expr, time=at_s + HALF_MS_S, nocache=1)
        return [(series["metric"], float(series["value"][1])) for series in found["result"]]


@contextmanager
def victoria(folder: Path) -> Iterator[Victoria]:
    """One that keeps its data in ``folder``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                "victoria-metrics",
                f"-storageDataPath={folder / 'data'}",
                f"-httpListenAddr=127.0.0.1:{port}",
                "-retentionPeriod=1y",
                "-search.latencyOffset=0s",
                "-search.maxStepForPointsAdjustment=1ms",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        made = Victoria(f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                made.get("/health")
                break
            except (urllib3.exceptions.HTTPError, AssertionError):
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield made
    finally:
        process.kill()
        process.wait()
