# SPDX-License-Identifier: Apache-2.0
"""Read a run: manifest, resolved scenario and tables of a results folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from hoplab.host.results import arrow, checked, parquet
from hoplab.host.results import manifest as manifests
from hoplab.host.results.manifest import COMPLETE, Manifest
from hoplab.model.errors import ResultsError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.reading import mistake
from hoplab.model.records.schema import TABLES


@dataclass(frozen=True)
class Results:
    """A finished run. Tables are read from disk when first used.

    A table that the run did not record has its columns and no rows. `docs/tables.md` lists columns
    and units.
    """

    run_dir: Path
    manifest: Manifest
    scenario: dict[str, Any]
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False, compare=False)

    def table(self, name: str) -> pa.Table:
        """The table ``name``. Raises `ResultsError` for an unknown or damaged one."""
        if name not in TABLES:
            raise ResultsError(f"{name!r} is no table; one of: {', '.join(TABLES)}")
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of the table ``name``, null as None."""
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def _read(self, name: str) -> pa.Table:
        path = self.run_dir / "tables" / f"{name}.parquet"
        if not path.exists():
            return arrow.empty(name)
        try:
            columns = partial(checked.schema_mistake, name)
            table = arrow.completed(name, parquet.read(path, columns))
        except (OSError, pa.ArrowException, RecursionError) as error:
            told = (isinstance(error, OSError) and error.strerror) or str(error)
            reason = (told.splitlines() or [type(error).__name__])[0]
            raise ResultsError(f"{path}: cannot be read: {reason}; run it again") from None
        missing = sorted(TABLES[name].names - set(table.column_names))
        if missing:
            raise ResultsError(
                f"{path}: lacks {', '.join(missing)}; it is from another version of hoplab"
            )
        stations = {station.name for station in self.resolved.station}
        wrong = checked.content_mistake(name, table, stations)
        if wrong is not None:
            raise ResultsError(f"{path}: {wrong}; it is damaged, run it again")
        return table

    @cached_property
    def resolved(self) -> Resolved:
        """The run's scenario. Raises `ResultsError` if this version cannot read it."""
        return scenario_in(self.scenario, self.run_dir / "scenario.json")

    @property
    def flows(self) -> pa.Table:
        """Results of each flow, a row per flow."""
        return self.table("flows")

    @property
    def tcp(self) -> pa.Table:
        """TCP senders over time."""
        return self.table("tcp")

    @property
    def nodes(self) -> pa.Table:
        """Stations over time, counters cumulative."""
        return self.table("nodes")

    @property
    def links(self) -> pa.Table:
        """Frames between each pair of radios over the whole run, with their fates."""
        return self.table("links")

    @property
    def link_samples(self) -> pa.Table:
        """The same over time, counters cumulative. A row appears when a counter has grown."""
        return self.table("link_samples")

    @property
    def radios(self) -> pa.Table:
        """Counters, airtime and energy of each radio over the whole run."""
        return self.table("radios")

    @property
    def signals(self) -> pa.Table:
        """Histograms of each link, in bins of 1 dB, each from ``dbm`` up. ``quantity`` is "signal"
        (the frames' power) or "noise" (noise and interference while they lasted)."""
        return self.table("signals")

    @property
    def queues(self) -> pa.Table:
        """Queues of wired interfaces over time."""
        return self.table("queues")

    @property
    def queue_parts(self) -> pa.Table:
        """Tins of CAKE, bands of ETS and queues of DualPI2 over time."""
        return self.table("queue_parts")

    @property
    def wifi_queues(self) -> pa.Table:
        """Linux's own queues of each station and access category over time, with
        ``radio.queue = "fq_codel"``."""
        return self.table("wifi_queues")

    @property
    def routing(self) -> pa.Table:
        """Counters of each station's routing daemon over the whole run; only DSR has them."""
        return self.table("routing")

    @property
    def packets(self) -> pa.Table:
        """Each packet of each flow, if the scenario records packets."""
        return self.table("packets")

    @property
    def frames(self) -> pa.Table:
        """Each frame on the air, if the scenario records frames."""
        return self.table("frames")

    @property
    def events(self) -> pa.Table:
        """Events by time: scenario events, routing events and others."""
        return self.table("events")


def scenario_in(document: Any, path: Path) -> Resolved:
    """Return the scenario of a run, from the file of this path. Raises `ResultsError` if this
    version cannot read it."""
    try:
        return Resolved.model_validate(document)
    except ValidationError as error:
        raise ResultsError(
            f"{path}: {mistake(error)}; it is damaged or from another version of hoplab; run it "
            "again"
        ) from None


def load(run_dir: Path | str) -> Results:
    """Read the run in ``run_dir``. Raises `ResultsError` if that is no finished run."""
    folder = Path(run_dir)
    if not folder.is_dir():
        raise ResultsError(f"{folder}: is no folder; name the folder of a finished run")
    _require(folder / manifests.NAME)
    manifest = manifests.read(folder / manifests.NAME)
    if manifest.state != COMPLETE:
        raise ResultsError(
            f"{folder}: has no tables: it is still running, or was killed, or its disk was full; "
            f"'hoplab finish {folder}' makes them from its records"
        )
    return Results(folder, manifest, _json(folder / "scenario.json"))


def _require(path: Path) -> None:
    if not os.path.lexists(path):
        raise ResultsError(
            f"{path.parent}: is no finished run: it has no {path.name}; name a run's folder"
        )


def _json(path: Path) -> dict[str, Any]:
    _require(path)
    value = manifests.read_json(path)
    if not isinstance(value, dict):
        raise ResultsError(f"{path}: is no JSON object; run it again")
    return value
