# SPDX-License-Identifier: Apache-2.0
"""Where workers are: Dask distributed's own clusters, a worker a core.

    local       started and stopped with the sweep, over the loopback address with keys of its own
    --scheduler a scheduler that runs already, with the workers that it has
    ssh         distributed's SSHCluster: ``hosts``
    slurm, pbs, sge, lsf, htcondor, moab, oar   dask-jobqueue's classes, with the settings of its
                own files (``~/.config/dask/jobqueue.yaml``) under those given here

A run whose worker dies is taken from the scheduler at the first death (its ``allowed-failures`` is
0): the engine decides what becomes of it (`hoplab.many.sweep.engine`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hoplab.model.errors import MissingTool, ScenarioError

JOBQUEUE = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "moab": "MoabCluster",
    "oar": "OARCluster",
}
KINDS = ("local", "ssh", *JOBQUEUE)
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.profile.enabled": False,
    "distributed.comm.timeouts.connect": "30s",
}
CONNECT_S = 15


@dataclass(frozen=True)
class Cluster:
    """Where runs go. ``workers``: how many; None means one for each core that may be used, or what
    a joined scheduler has. ``options`` go to the cluster's class."""

    scheduler: str | None = None
    kind: str = "local"
    workers: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ScenarioError(
                f"--cluster: {self.kind!r} is not known; one of: {', '.join(KINDS)}"
            )
        if self.scheduler is not None and self.kind != "local":
            raise ScenarioError("--scheduler joins a running cluster; remove --cluster")


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


def require() -> None:
    """Raise `MissingTool` where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingTool("dask: is not installed; sweeps need it: pip install 'hoplab[sweep]'")


@contextlib.contextmanager
def joined(cluster: Cluster) -> Iterator[Any]:
    """A client of the cluster while inside; one that was started here is stopped then."""
    require()
    import dask
    from distributed import Client

    connect: Any = Client
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        stack.enter_context(_quiet())
        if cluster.scheduler is not None:
            try:
                client = stack.enter_context(connect(cluster.scheduler, timeout=CONNECT_S))
            except (OSError, ValueError) as error:
                reason = str(error).splitlines()[0][:200]
                raise MissingTool(
                    f"--scheduler {cluster.scheduler}: cannot be joined: {reason}; start one with "
                    "'dask scheduler' and give the address that it prints"
                ) from None
            stack.enter_context(_first_death_decides(client))
        else:
            # Dask would leave a folder of its own in the current one.
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="hoplab-dask-"))
            stack.enter_context(dask.config.set({"temporary-directory": scratch}))
            place = stack.enter_context(_started(cluster, scratch))
            client = stack.enter_context(connect(place))
        yield client


def _started(cluster: Cluster, scratch: str) -> Any:
    if cluster.kind == "local":
        return _local(cluster, scratch)
    if cluster.kind == "ssh":
        return _ssh(cluster)
    return _queued(cluster)


def _local(cluster: Cluster, scratch: str) -> Any:
    from distributed import LocalCluster

    start: Any = LocalCluster
    options = {
        "n_workers": cluster.workers or cores(),
        "threads_per_worker": 1,
        "processes": True,
        "host": "127.0.0.1",
        # Anybody on this computer could send code to an open scheduler.
        "security": True,
        # A guest's memory is a file of its own; what a worker holds itself is next to nothing.
        "memory_limit": 0,
        "local_directory": scratch,
        "dashboard_address": "127.0.0.1:0" if has_dashboard() else None,
        "silence_logs": logging.CRITICAL,
        **cluster.options,
    }
    return start(**options)


def has_dashboard() -> bool:
    """Whether Dask can draw its dashboard here."""
    return importlib.util.find_spec("bokeh") is not None


def dashboard(client: Any) -> str | None:
    """Where the scheduler's dashboard is; None where it has none."""
    services = client.scheduler_info(n_workers=0).get("services", {})
    if not has_dashboard() or not services.get("dashboard"):
        return None
    return str(client.dashboard_link)


def _ssh(cluster: Cluster) -> Any:
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingTool(
            "asyncssh: is not installed; --cluster ssh needs it: pip install asyncssh"
        )
    from distributed import SSHCluster

    options = dict(cluster.options)
    hosts = options.pop("hosts", None)
    if not isinstance(hosts, list) or len(hosts) < 2:
        raise ScenarioError(
            '--cluster ssh: needs --cluster-set \'hosts=["a", "a", "b"]\': the first runs the '
            "scheduler, each of the others workers"
        )
    # -1: as many as the host has cores.
    each = {"nthreads": 1, "n_workers": cluster.workers or -1, "memory_limit": "0"}
    worker_options = {**each, **options.pop("worker_options", {})}
    return SSHCluster(hosts, worker_options=worker_options, **options)


def _queued(cluster: Cluster) -> Any:
    if importlib.util.find_spec("dask_jobqueue") is None:
        raise MissingTool(
            f"dask-jobqueue: is not installed; --cluster {cluster.kind} needs it: "
            "pip install dask-jobqueue"
        )
    import dask
    import dask_jobqueue

    options = dict(cluster.options)
    for name, value in (("cores", 1), ("memory", "1GB")):
        if dask.config.get(f"jobqueue.{cluster.kind}.{name}", None) is None:
            options.setdefault(name, value)
    threads = options.get("cores") or dask.config.get(f"jobqueue.{cluster.kind}.cores")
    options.setdefault("processes", threads)  # a worker a core
    try:
        place = getattr(dask_jobqueue, JOBQUEUE[cluster.kind])(**options)
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"--cluster {cluster.kind}: {error}; see --cluster-set") from None
    place.scale(n=cluster.workers or threads)
    return place


@contextlib.contextmanager
def _first_death_decides(client: Any) -> Iterator[None]:
    """On a scheduler that was not started here, for as long as the sweep lasts."""

    def allow(failures: int, dask_scheduler: Any = None) -> int:
        before = dask_scheduler.allowed_failures
        dask_scheduler.allowed_failures = failures
        return int(before)

    before = client.run_on_scheduler(allow, 0)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # it may have gone
            client.run_on_scheduler(allow, before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells of workers that come and go; the engine tells what matters of it."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logger.setLevel(before)
