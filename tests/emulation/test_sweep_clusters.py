# SPDX-License-Identifier: Apache-2.0
"""Sweeps on Dask's other clusters: a batch queue and SSH, both played on the loopback address."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from hoplab.many.sweep import api as sweeps

pytestmark = pytest.mark.chance

PAIR = {
    "duration_s": 2,
    "topology": {"kind": "pair"},
    "flow": [{"source": "n0", "destination": "n1"}],
}
SBATCH = """#!/bin/sh
# A queue that starts whatever it is given at once; the last word is the script.
for script; do :; done
cp "$script" "{folder}/script"
setsid sh "{folder}/script" >"{folder}/job.log" 2>&1 &
echo $! >"{folder}/job-$!"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
rm "{folder}/job-$1" && kill -- "-$1"
"""


def through(cluster: sweeps.Cluster, folder: Path) -> list[sweeps.Done]:
    points = [sweeps.point(PAIR, {"number": i}, seed=i) for i in (1, 2)]
    return sweeps.run_all(points, store=folder / "store", cluster=cluster)


def test_a_batch_queue_runs_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (programs / name).write_text(text.format(folder=tmp_path))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    options = {
        "scheduler_options": {"host": "127.0.0.1", "dashboard_address": None},
        "local_directory": str(tmp_path),
        "walltime": "00:05:00",
    }
    found = through(sweeps.Cluster(kind="slurm", workers=1, options=options), tmp_path)
    assert [done.error for done in found] == [None, None], (tmp_path / "job.log").read_text()
    assert "#SBATCH -t 00:05:00" in (tmp_path / "script").read_text()
    # The queue has learnt that the job is no longer wanted.
    assert not list(tmp_path.glob("job-*"))


@contextlib.contextmanager
def ssh_server(folder: Path) -> Iterator[dict[str, Any]]:
    """A server that runs requested commands as this user; yields how to connect."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(folder / "key")
    key.write_public_key(folder / "key.pub")
    loop = asyncio.new_event_loop()
    started: list[subprocess.Popen[bytes]] = []

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        child = subprocess.Popen(
            ["sh", "-c", process.command or "true"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(child)
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        process.exit(await loop.run_in_executor(None, child.wait))

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[key],
            authorized_client_keys=str(folder / "key.pub"),
            process_factory=serve,
            encoding=None,
        )

    server = loop.run_until_complete(listen())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield {
            "port": server.get_port(),
            "known_hosts": None,
            "client_keys": [str(folder / "key")],
            "username": "anybody",
        }
    finally:
        for child in started:
            child.kill()
            child.wait()
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_workers_come_up_over_ssh(tmp_path: Path) -> None:
    with ssh_server(tmp_path) as connect:
        options = {
            "hosts": ["127.0.0.1", "127.0.0.1"],
            "connect_options": connect,
            "remote_python": sys.executable,
            "scheduler_options": {"dashboard_address": None},
            "worker_options": {"local_directory": str(tmp_path)},
        }
        found = through(sweeps.Cluster(kind="ssh", workers=1, options=options), tmp_path)
    assert [done.error for done in found] == [None, None]
