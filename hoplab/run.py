# SPDX-License-Identifier: Apache-2.0
"""One run from the outside: prepare a folder, run the lab in a machine, gather the results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab import __version__, tables
from hoplab.errors import GuestFailed, HoplabError, ResultsError
from hoplab.machine import kernel, uml
from hoplab.paths import PROJECT
from hoplab.scenario import Scenario

LOCK = "running.pid"
WALL_LIMIT_FACTOR = 60.0
"""Wall seconds a virtual second may take before the watchdog calls the guest hung."""


@dataclass(frozen=True)
class Progress:
    """Where a run is: virtual time in s, goodput of the last second in kbit/s, wall time in s."""

    t_s: float
    goodput_kbps: float
    wall_s: float


def run(
    scenario: Scenario,
    source: Path | None,
    out: Path,
    machine: str = "uml",
    wall_limit_s: float | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Run a resolved scenario into the new folder ``out``; returns the manifest.

    Results so far are kept and turned into tables when the run fails. Raises the `HoplabError`
    of what went wrong.
    """
    _prepare(out, scenario, source)
    started = time.monotonic()

    def on_line(line: str) -> None:
        try:
            entry = json.loads(line)
            progress = Progress(
                float(entry["t_s"]), float(entry["goodput_kbps"]), time.monotonic() - started
            )
        except (ValueError, KeyError, TypeError):
            return
        on_progress(progress)

    failure: HoplabError | None = None
    limit = wall_limit_s
    if limit is None:
        limit = 60.0 + WALL_LIMIT_FACTOR * (scenario.duration_s + (scenario.warm_up_s or 0.0))
    try:
        if machine == "uml":
            uml.run_guest(
                ["/hoplab/.venv/bin/python", "-I", "-m", "hoplab.lab", "/out"],
                writable=out,
                seed=scenario.seed,
                wall_limit_s=limit,
                on_line=on_line,
                stderr=subprocess.DEVNULL,
            )
        else:
            _run_here(out, on_line)
    except GuestFailed as error:
        failure = error
    finally:
        (out / LOCK).unlink(missing_ok=True)
    manifest = gather(out, scenario, machine, time.monotonic() - started)
    if failure is not None:
        raise failure
    verdict = manifest["verdict"]
    if verdict["status"] != 0:
        ended = HoplabError(f"{out.name}: {verdict['error']}; results so far are in {out}")
        ended.exit_status = verdict["status"]
        raise ended
    return manifest


def _prepare(out: Path, scenario: Scenario, source: Path | None) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise ResultsError(
                f"{out}: is not empty; name a new folder with --out or remove what is there"
            )
        # Made with O_EXCL: of two runs that start at once, one gets the folder.
        with (out / LOCK).open("x") as lock:
            lock.write(str(os.getpid()))
        (out / "scenario.json").write_text(
            scenario.model_dump_json(exclude_none=True, indent=1), encoding="utf-8"
        )
        if source is not None:
            shutil.copy(source, out / "scenario.toml")
    except FileExistsError:
        raise ResultsError(f"{out}: another run is using it; name another with --out") from None
    except OSError as error:
        raise ResultsError(
            f"{out}: cannot be written: {error.strerror}; choose another folder with --out"
        ) from None


def _run_here(out: Path, on_line: Callable[[str], None]) -> None:
    """Run the lab on this kernel, in real time."""
    if os.geteuid() != 0:
        raise HoplabError("--machine host: needs root for namespaces and radios; use sudo")
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "hoplab.lab", str(out.resolve())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=PROJECT,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            on_line(line)
        process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def gather(out: Path, scenario: Scenario, machine: str, wall_s: float) -> dict[str, Any]:
    """Tables, digest and manifest from what the lab left in ``out``."""
    try:
        verdict = json.loads((out / "raw" / "verdict.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        verdict = {"status": 5, "error": "the lab ended without a verdict"}
    (out / "raw").mkdir(exist_ok=True)
    _flow_rows(out, scenario, verdict.get("flows", {}))
    made = tables.convert(out)
    manifest = {
        "run": out.name,
        "digest": tables.digest(out, made),
        "hoplab_version": __version__,
        "kernel": verdict.pop("kernel", None),
        "kernel_build": kernel.folder().name if machine == "uml" else None,
        "daemons": _daemon_versions(scenario),
        "seed": scenario.seed,
        "machine": machine,
        "virtual_s": verdict.pop("virtual_s", None),
        "wall_s": round(wall_s, 3),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "routing": scenario.routing.model_dump(),
        "tcp_settings": verdict.pop("tcp_settings", {}),
        "medium": _medium_account(out),
        "verdict": verdict,
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return manifest


def _medium_account(out: Path) -> dict[str, Any] | None:
    """What the medium says of itself: the audit of frames, system calls, whether to trust it."""
    try:
        account: dict[str, Any] = json.loads((out / "raw" / "medium.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return account


def _flow_rows(out: Path, scenario: Scenario, summaries: dict[str, Any]) -> None:
    with (out / "raw" / "flows.jsonl").open("w", encoding="utf-8") as file:
        for flow in scenario.flow:
            row = {
                "flow": flow.name,
                "protocol": flow.protocol,
                "src": flow.source,
                "dst": flow.destination,
                "start_s": flow.start_s,
                "stop_s": flow.stop_s,
                "congestion_control": flow.congestion_control,
                **summaries.get(str(flow.name), {}),
            }
            file.write(json.dumps(row) + "\n")


def _daemon_versions(scenario: Scenario) -> dict[str, str]:
    """Versions of the programs that took part, as they tell them themselves."""
    from hoplab.routing.daemons import program

    commands: dict[str, list[str]] = {"iperf3": ["iperf3", "--version"]}
    if any(station.radio for station in scenario.station):
        commands["hoplab-medium"] = ["hoplab-medium", "--version"]
    protocol = scenario.routing.protocol
    if protocol in ("batmand", "babeld", "dsr"):
        name: str = "hoplab-dsr" if protocol == "dsr" else protocol
        commands[name] = [name, {"batmand": "-v", "babeld": "-V"}.get(protocol, "--version")]
    versions: dict[str, str] = {}
    for name, command in commands.items():
        try:
            answer = subprocess.run(
                [program(command[0]), *command[1:]],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (HoplabError, OSError, subprocess.TimeoutExpired):
            versions[name] = "unknown"
            continue
        lines = (answer.stdout + answer.stderr).strip().splitlines()
        versions[name] = lines[0] if lines else "unknown"
    return versions
