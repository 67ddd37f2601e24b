# SPDX-License-Identifier: Apache-2.0
"""The place of workers, a worker a core: processes of this command, or Dask distributed's clusters.

    processes   started and stopped with the sweep, without Dask
    local       the same with Dask, over the loopback address with keys of its own
    --scheduler a scheduler that runs already, with the workers that it has
    ssh         distributed's SSHCluster: ``hosts``
    slurm, pbs, sge, lsf, htcondor, moab, oar   dask-jobqueue's classes, with the settings of its
                own files (``~/.config/dask/jobqueue.yaml``) under those given here

The scheduler gives up a run at its worker's first death (its ``allowed-failures`` is 0). The engine
then decides what happens to the run (`hoplab.many.sweep.engine`).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
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
PROCESSES = "processes"
KINDS = (PROCESSES, "local", "ssh", *JOBQUEUE)
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.profile.enabled": False,
    "distributed.comm.timeouts.connect": "30s",
}
CONNECT_S = 15


@dataclass(frozen=True)
class Cluster:
    """The place of runs. ``workers`` is their number; None means one for each usable core, or what
    a joined scheduler has. ``options`` go to the cluster's class."""

    scheduler: str | None = None
    kind: str = PROCESSES
    workers: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ScenarioError(
                f"--cluster: {self.kind!r} is not known; one of: {', '.join(KINDS)}"
            )
        if self.scheduler is not None and self.kind != PROCESSES:
            raise ScenarioError("--scheduler joins a running cluster; remove --cluster")
        if self.options and not self.is_dasks:
            raise ScenarioError("--cluster-set: is for a cluster of Dask's; name it with --cluster")

    @property
    def is_dasks(self) -> bool:
        """Whether Dask runs the workers."""
        return self.scheduler is not None or self.kind != PROCESSES


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def require() -> None:
    """Raise `MissingTool` if Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingTool("dask: is not installed; clusters need it: pip install 'hoplab[sweep]'")


def has_dashboard() -> bool:
    """Return whether Dask can draw its dashboard here."""
    return importlib.util.find_spec("bokeh") is not None
