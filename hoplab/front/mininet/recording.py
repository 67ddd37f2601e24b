# SPDX-License-Identifier: Apache-2.0
"""``record``: have Hoplab measure a network that a script for Mininet-WiFi has built.

The lab (`hoplab.front.mininet.recorder`) is a process of Hoplab's own interpreter. This module
informs it where the stations are. Only the standard library, because scripts import this.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from hoplab.front.mininet import interpreter, plugins

OUT = "HOPLAB_OUT"
"""Folder of results in a guest that `hoplab mininet` started; not set on a host."""
VIRTUAL = "HOPLAB_VIRTUAL"
"""Set if time is virtual."""
STARTED = "medium-start.json"
"""File in a run's raw records: CLOCK_MONOTONIC, in s, at which the medium began to count."""


class RecordingFailed(RuntimeError):
    """Hoplab could not measure the network; the message says why and what to do."""


class Recording:
    """A measurement in progress; as a context manager, it waits for the end."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], paused: list[Any]) -> None:
        self.folder = folder
        """The folder for the results."""
        self._process = process
        self._paused = paused

    def wait(self) -> Path:
        """Wait for its end. Returns the folder of the results. Raises `RecordingFailed`."""
        assert self._process.stdout is not None
        told = self._process.stdout.readlines()
        status = self._ended()
        if status:
            raise _failure(told, status)
        return self.folder

    def _ended(self) -> int:
        """Wait for the end and return the status. The network then has its own routing back."""
        status = self._process.wait()
        paused, self._paused = self._paused, []
        for protocol in paused:
            protocol.start()
        return status

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._process.terminate()
            self._ended()
        else:
            self.wait()


def record(
    net: Any,
    name: str = "record",
    *,
    duration_s: float = 60.0,
    flow: Sequence[Mapping[str, Any]] = (),
    stream: Sequence[str] = (),
    influx: Sequence[str] = (),
    **tables: Any,
) -> Recording:
    """Measure the built network ``net`` for ``duration_s``, and send ``flow`` through it meanwhile.

    A flow has the keys of a scenario's `[[flow]]`: ``{"source": "sta1", "destination": "sta3",
    "congestion_control": "vegas", "elfn": True}``. ``tables`` are further tables and keys of a
    scenario, such as ``tcp={"profile": "classic"}``, ``measure={"packets": True}``,
    ``split={"proxies": ["sta2"]}``, ``title="…"``, ``seed=2``. Returns as the measured time begins.

    The results are in the folder ``name``: under `hoplab mininet` in its ``--out``, on a host in
    the current folder. On a host the samples go to ``stream`` (files) and ``influx`` (URLs). In a
    guest these are options of `hoplab mininet`. Raises `RecordingFailed`.
    """
    nodes = list(net.stations)
    if not nodes:
        raise RecordingFailed("record: the network has no station; build it first")
    guest = os.environ.get(OUT)
    if guest and (stream or influx):
        raise RecordingFailed(
            "record: stream and influx are for a host; a guest is without network, so give "
            "--stream or --influx to 'hoplab mininet'"
        )
    folder = Path(guest or ".", name).absolute()
    protocols = [found for node in nodes if (found := plugins.of(node)) is not None]
    document = {
        "title": name,
        "duration_s": duration_s,
        "flow": [dict(entry) for entry in flow],
        **_routing(nodes, tables),
        **_splitting(nodes),
        **tables,
        "network": {"built_by": "script"},
        "station": [_station(node) for node in nodes],
    }
    request = {
        "out": str(folder),
        "scenario": document,
        "pids": {node.name: node.pid for node in nodes},
        "real_time": VIRTUAL not in os.environ,
        "guest": guest is not None,
        "stream": list(map(str, stream)),
        "influx": list(influx),
    }
    # The run's own daemons replace these, because they know where its records go.
    paused = protocols if document["routing"]["protocol"] != "own" else []
    for protocol in paused:
        protocol.stop()
    recording = Recording(folder, _start(request), paused)
    _begun(recording)
    return recording


def _routing(nodes: list[Any], tables: dict[str, Any]) -> dict[str, Any]:
    """Return the protocol of Hoplab that every station has. Otherwise the network has its own."""
    found = [plugins.of(node) for node in nodes]
    given = dict(tables.pop("routing", {}))
    names = {p.name if isinstance(p, plugins.Routing) else None for p in found}
    protocol = names.pop() if len(names) == 1 else None
    if protocol is None:
        return {"routing": {"protocol": "own", **given}}
    words = [word for p in found if isinstance(p, plugins.Routing) for word in p.settings]
    values = {key: _value(text) for key, _, text in (word.partition("=") for word in words)}
    values.update(given.pop("settings", {}))
    return {"routing": {"protocol": protocol, "settings": values, **given}}


def _value(text: str) -> Any:
    """Convert a value as the daemon does: anything but a number or a truth value is a string."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text


def _splitting(nodes: list[Any]) -> dict[str, Any]:
    """Return the stations with ``proto="split"`` as proxies."""
    names = [node.name for node in nodes if isinstance(plugins.of(node), plugins.Split)]
    return {"split": {"proxies": names}} if names else {}


def _station(node: Any) -> dict[str, Any]:
    place = [float(value) for value in getattr(node, "position", (0, 0, 0))]
    intf = next(iter(node.wintfs.values()))
    return {
        "name": node.name,
        "x_m": place[0],
        "y_m": place[1],
        "port": {
            "interface": str(intf.name),
            "address": str(intf.ip),
            "prefix": int(intf.prefixLen),
            "mac": str(intf.mac),
        },
    }


def _start(request: dict[str, Any]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*interpreter.command(), "-m", "hoplab.front.mininet.recorder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=interpreter.environment(),
        # A Ctrl-C in the script's terminal ends the script, which then ends this process.
        start_new_session=True,
    )
    assert process.stdin is not None
    with process.stdin:
        json.dump(request, process.stdin)
    return process


def _begun(recording: Recording) -> None:
    """Return when the measured time begins."""
    process = recording._process
    assert process.stdout is not None
    told: list[str] = []
    for line in process.stdout:
        told.append(line)
        begin_ns = _object(line).get("begin_ns")
        if begin_ns is not None:
            time.sleep(max(0.0, (begin_ns - time.monotonic_ns()) / 1e9))
            return
    raise _failure(told, recording._ended())


def _failure(told: Sequence[str], status: int) -> RecordingFailed:
    errors = [error for line in told if (error := _object(line).get("error"))]
    return RecordingFailed(errors[-1] if errors else f"record: ended with status {status}")


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
