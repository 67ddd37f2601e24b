# SPDX-License-Identifier: Apache-2.0
"""From a run's raw records to Parquet tables and the run's digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TIMED = ("t_s", pa.float64())
SCHEMAS: dict[str, list[tuple[str, pa.DataType]]] = {
    "flows": [
        ("flow", pa.string()),
        ("protocol", pa.string()),
        ("src", pa.string()),
        ("dst", pa.string()),
        ("start_s", pa.float64()),
        ("stop_s", pa.float64()),
        ("congestion_control", pa.string()),
        ("delivered_bytes", pa.int64()),
        ("goodput_kbps", pa.float64()),
        ("retransmits", pa.int64()),
        ("timeouts", pa.int64()),
        ("rtt_ms_mean", pa.float64()),
        ("sent", pa.int64()),
        ("received", pa.int64()),
        ("lost", pa.int64()),
        ("latency_ms_mean", pa.float64()),
    ],
    "tcp": [
        TIMED,
        ("flow", pa.string()),
        ("delivered_bytes", pa.int64()),
        ("acked_bytes", pa.int64()),
        ("cwnd", pa.int64()),
        ("ssthresh", pa.int64()),
        ("rtt_ms", pa.float64()),
        ("rttvar_ms", pa.float64()),
        ("rto_ms", pa.float64()),
        ("backoff", pa.int64()),
        ("ca_state", pa.string()),
        ("retransmits", pa.int64()),
        ("timeouts", pa.int64()),
        ("in_flight", pa.int64()),
        ("lost", pa.int64()),
        ("min_rtt_ms", pa.float64()),
        ("estimate_kbps", pa.float64()),
    ],
    "nodes": [
        TIMED,
        ("node", pa.string()),
        ("x_m", pa.float64()),
        ("y_m", pa.float64()),
        ("tx_frames", pa.int64()),
        ("tx_bytes", pa.int64()),
        ("rx_frames", pa.int64()),
        ("rx_bytes", pa.int64()),
        ("retries", pa.int64()),
        ("failed", pa.int64()),
        ("queue_len", pa.int64()),
        ("queue_drops", pa.int64()),
        ("busy_fraction", pa.float64()),
        ("energy_j", pa.float64()),
    ],
    "links": [
        ("src", pa.string()),
        ("dst", pa.string()),
        ("frames", pa.int64()),
        ("delivered", pa.int64()),
        ("collided", pa.int64()),
        ("weak", pa.int64()),
        ("capture_lost", pa.int64()),
        ("error_model", pa.int64()),
        ("deaf", pa.int64()),
        ("off", pa.int64()),
        ("bytes", pa.int64()),
        ("signal_dbm_mean", pa.float64()),
    ],
    "radios": [
        ("node", pa.string()),
        ("tx_frames", pa.int64()),
        ("rx_frames", pa.int64()),
        ("retries", pa.int64()),
        ("retry_limit", pa.int64()),
        ("queue_full", pa.int64()),
        ("rx_overrun", pa.int64()),
        *(
            (f"airtime_{kind}_s", pa.float64())
            for kind in ("data", "ack", "rts", "cts", "beacon", "broadcast")
        ),
        ("busy_s", pa.float64()),
        *((f"energy_{state}_j", pa.float64()) for state in ("tx", "rx", "idle", "sleep")),
    ],
    "signals": [
        ("src", pa.string()),
        ("dst", pa.string()),
        ("quantity", pa.string()),
        ("dbm", pa.int64()),
        ("frames", pa.int64()),
    ],
    "queues": [
        TIMED,
        ("node", pa.string()),
        ("interface", pa.string()),
        ("backlog_packets", pa.int64()),
        ("backlog_bytes", pa.int64()),
        ("drops", pa.int64()),
        ("sent_packets", pa.int64()),
    ],
    "routing": [
        ("node", pa.string()),
        ("counter", pa.string()),
        ("value", pa.int64()),
    ],
    "packets": [
        ("flow", pa.string()),
        ("seq", pa.int64()),
        ("bytes", pa.int64()),
        ("sent_s", pa.float64()),
        ("received_s", pa.float64()),
    ],
    "frames": [
        TIMED,
        ("src", pa.string()),
        ("dst", pa.string()),
        ("kind", pa.string()),
        ("bytes", pa.int64()),
        ("rate_mbps", pa.float64()),
        ("attempt", pa.int64()),
        ("fate", pa.string()),
        ("signal_dbm", pa.float64()),
    ],
    "events": [
        TIMED,
        ("node", pa.string()),
        ("source", pa.string()),
        ("kind", pa.string()),
        ("detail", pa.string()),
    ],
}


def convert(run: Path, duration_s: float) -> dict[str, pa.Table]:
    """Read ``raw/*.jsonl``, write ``tables/*.parquet``, return the tables.

    What daemons saw while the run was taken down, after ``duration_s``, is left out.
    """
    folder = run / "tables"
    folder.mkdir(exist_ok=True)
    tables = {}
    for name, schema in SCHEMAS.items():
        rows = raw_rows(run, name)
        if schema[0] == TIMED:
            rows = [row for row in rows if row["t_s"] <= duration_s]
            rows.sort(key=lambda row: float(row["t_s"]))
        if not rows:
            continue
        columns = {
            column: pa.array([row.get(column) for row in rows], type=kind)
            for column, kind in schema
        }
        tables[name] = pa.table(columns)
        pq.write_table(tables[name], folder / f"{name}.parquet", compression="zstd")
    return tables


def raw_rows(run: Path, name: str) -> list[dict[str, Any]]:
    """The rows of ``raw/NAME.jsonl`` and, for events, of every ``raw/NAME-SOURCE.jsonl``."""
    rows: list[dict[str, Any]] = []
    raw = run / "raw"
    for path in sorted([*raw.glob(f"{name}.jsonl"), *raw.glob(f"{name}-*.jsonl")]):
        with path.open(encoding="utf-8") as file:
            for line in file:
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    # The last line of a process that was killed in the middle of it.
                    continue
    return rows


def digest(run: Path, tables: dict[str, pa.Table]) -> str:
    """SHA-256 over every table's values, in order of name, and over the captures' bytes.

    Values, not Parquet's bytes: another version of the Parquet library writes other bytes.
    """
    sha = hashlib.sha256()
    for name in sorted(tables):
        sha.update(f"table {name}\n".encode())
        for row in tables[name].to_pylist():
            sha.update(json.dumps(row, separators=(",", ":")).encode() + b"\n")
    for path in sorted((run / "captures").glob("*")):
        sha.update(f"capture {path.name}\n".encode())
        sha.update(path.read_bytes())
    return sha.hexdigest()
