# SPDX-License-Identifier: Apache-2.0
"""The parts of sweeps that need Dask, an extra: clusters, their workers, and the outcome of a run
there."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster, SSHCluster, get_worker
from distributed.client import FutureCancelledError

from hoplab.host.machine.sealed import Machine
from hoplab.many.sweep import task
from hoplab.many.sweep.cluster import CONNECT_S, JOBQUEUE, SETTINGS, Cluster, cores, has_dashboard
from hoplab.many.sweep.task import Answer, Request
from hoplab.model.errors import MissingTool, ScenarioError


class Dasked:
    """A cluster's workers, as the engine sees them."""

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def link(self) -> str | None:
        """Address of the scheduler's dashboard, or None if it has none."""
        services = self.client.scheduler_info(n_workers=0).get("services", {})
        if not has_dashboard() or not services.get("dashboard"):
            return None
        return str(self.client.dashboard_link)

    def present(self) -> Mapping[str, int]:
        """Return how many runs each worker makes at a time, by its address."""
        threads: Mapping[str, int] = self.client.nthreads()
        return threads

    def submit(self, request: Request, machine: Machine, name: str) -> Any:
        """Have a run made; a worker that lacks the machine says so."""
        return self.client.submit(at_worker, request, key=name, pure=False)

    def answer_of(self, future: Any) -> Answer | None:
        """Return a worker's result, or None if the worker died."""
        try:
            answer: Answer = future.result()
        except KilledWorker:
            return None
        except FutureCancelledError:
            raise MissingTool("scheduler: the connection to it was lost; start it again") from None
        finally:
            future.release()
        return answer

    def receive(self, content: bytes, workers: Sequence[str]) -> None:
        """Send a packed machine to workers, of which some may have gone."""
        if workers:
            self.client.run(task.receive, content, workers=workers, on_error="ignore")


@contextlib.contextmanager
def joined(cluster: Cluster) -> Iterator[Dasked]:
    """Provide the cluster's workers inside the block. A cluster that was started here is then
    stopped."""
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
            # Otherwise Dask would leave a folder in the current one.
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="hoplab-dask-"))
            stack.enter_context(dask.config.set({"temporary-directory": scratch}))
            place = stack.enter_context(_started(cluster, scratch))
            client = stack.enter_context(connect(place))
        yield Dasked(client)


def _started(cluster: Cluster, scratch: str) -> Any:
    if cluster.kind == "local":
        return _local(cluster, scratch)
    if cluster.kind == "ssh":
        return _ssh(cluster)
    return _queued(cluster)


def _local(cluster: Cluster, scratch: str) -> Any:
    start: Any = LocalCluster
    options = {
        "n_workers": cluster.workers or cores(),
        "threads_per_worker": 1,
        "processes": True,
        "host": "127.0.0.1",
        # Any user of this computer could send code to an open scheduler.
        "security": True,
        # A guest's memory is a file. The worker itself holds next to nothing.
        "memory_limit": 0,
        "local_directory": scratch,
        "dashboard_address": "127.0.0.1:0" if has_dashboard() else None,
        "silence_logs": logging.CRITICAL,
        **cluster.options,
    }
    return start(**options)


def _ssh(cluster: Cluster) -> Any:
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingTool(
            "asyncssh: is not installed; --cluster ssh needs it: pip install asyncssh"
        )
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
    import dask_jobqueue  # only sites with a batch system have it

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
    """Configure a scheduler that was not started here, for as long as the sweep lasts."""

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
    """Silence Dask's messages about workers that come and go. The engine reports those that
    matter."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logger.setLevel(before)


def at_worker(request: Request) -> Answer:
    """Run `task.work` in a Dask worker, in its scratch folder. Dask clears that folder after the
    worker's death."""
    worker = get_worker()
    answer = task.work(request, worker.local_directory)
    if answer.lacks_machine is not None:
        return replace(answer, lacks_machine=worker.address)
    if answer.problem is not None:
        return replace(answer, problem=f"worker {worker.address}: {answer.problem}")
    return answer
