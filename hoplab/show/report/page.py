# SPDX-License-Identifier: Apache-2.0
"""RUN/report.html: key figures, figures over time, map, tables, and what was run.

Names and texts of a scenario are foreign input: the template escapes all of them, and Plotly
escapes what it embeds as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from hoplab.guest.system import signals
from hoplab.host.results.manifest import Manifest, Where
from hoplab.host.results.reader import Results, load
from hoplab.model import writing
from hoplab.model.errors import ResultsError
from hoplab.model.keys.radio import Radio
from hoplab.model.reading import content
from hoplab.model.resolve.resolve import radio_with_profile
from hoplab.show.report import templates, units
from hoplab.show.report.data import MAX_CONNECTIONS, figures
from hoplab.show.report.figures import (
    circles_fit,
    library,
    lost_frames,
    moves,
    over_time,
    station_map,
)
from hoplab.show.report.lines import number
from hoplab.show.report.on_map import lost
from hoplab.show.report.units import Unit

_HERE = Path(__file__).parent
_TEMPLATE = "report.html.j2"
MAX_ROWS = 200
"""Rows of the longest tables on the page; the Parquet files have all."""
FOLD = 10
"""Rows of a table that are visible at first."""
CARDS_IN_ROW = (6, 4)
"""Cards in a row at most: on a wide page, and on one of some 800 px."""
REAL_TIME = (Where.HOST, Where.SHELL)
"""Machines of a manifest whose clock is the wall clock."""
AIRTIME = ("data", "ack", "rts", "cts", "beacon", "broadcast")


def render(run_dir: Path | str) -> Path:
    """Write ``report.html`` into the run's folder and return its path.

    Raises `ResultsError` where ``run_dir`` is no run or cannot be written.
    """
    results = load(run_dir)
    path = results.run_dir / "report.html"
    try:
        writing.write_text(path, _page(results))
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def prepare() -> None:
    """Load what the first call of `render` would load: its template, and parts of Plotly."""
    environment().get_template(_TEMPLATE)
    line = {"group": "", "label": "", "t": [0], "y": [0]}
    panel = {"title": "", "unit": "", "lines": [line]}
    over_time({"panels": [panel], "marks": [], "duration_s": 1})


@cache
def environment(*folders: Path) -> Environment:
    """Return the environment that renders pages. It has the templates of ``folders`` and of this
    folder, and the filters ``num`` and ``rate``. ``own`` puts one of this package's files into the
    page."""
    made = Environment(
        loader=FileSystemLoader([*folders, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=templates.kept(),
    )
    made.filters["num"] = number_text
    made.filters["rate"] = rate_text
    made.globals["own"] = _own
    return made


def _page(results: Results) -> str:
    manifest, scenario = results.manifest, results.scenario
    data = figures(results)
    flows, radios, links = results.rows("flows"), results.rows("radios"), results.rows("links")
    links.sort(key=lambda row: -(row["frames"] or 0))
    once = seen_once(flows, results.rows("connections"))
    cards = _cards(manifest, once, radios, results)
    return (
        environment()
        .get_template(_TEMPLATE)
        .render(
            title=str(scenario.get("title") or manifest.run or "Run"),
            manifest=manifest,
            scenario=scenario,
            cards=cards,
            cards_in_row=cards_in_row(len(cards)),
            flows=flows,
            rate=units.of_rates(flow["goodput_kbps"] for flow in flows),
            radios=radios,
            airtime=_airtime(radios, data["duration_s"]),
            airtime_kinds=AIRTIME,
            links=sorted(links[:MAX_ROWS], key=_by_stations),
            links_left_out=max(0, len(links) - MAX_ROWS),
            programs=_programs(scenario, results.rows("events")),
            connections=results.rows("connections")[:MAX_ROWS],
            connections_left_out=max(0, len(results.rows("connections")) - MAX_ROWS),
            most_drawn=MAX_CONNECTIONS,
            handovers=results.rows("handovers")[:MAX_ROWS],
            handovers_left_out=max(0, len(results.rows("handovers")) - MAX_ROWS),
            queues=_queues(results.rows("queues"), "node", "interface"),
            queue_parts=_queues(results.rows("queue_parts"), "node", "interface", "part"),
            wifi_queues=_queues(results.rows("wifi_queues"), "node", "peer", "category"),
            splits=_splits(results.rows("split")),
            event_rows=data["events"][:MAX_ROWS],
            event_count=len(data["events"]) + data["events_left_out"],
            max_rows=MAX_ROWS,
            fold=FOLD,
            moving=moves(data),
            circles=circles_fit(data),
            stopped=tuple(signals.WORDS.values()),
            settings=_settings(manifest.tcp_settings),
            source=_source(results.run_dir),
            data=data,
            plotly=library(),
            over_time=over_time(data),
            station_map=station_map(data),
            lost_frames=lost_frames(lost(links)),
        )
    )


def _own(name: str) -> Markup:
    """Return a file of this package, for inlining."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))


def number_text(value: Any, digits: int = 1) -> str:
    """Return a number with thin spaces between thousands, or a dash for null and other values."""
    known = number(value)
    if known is None:
        return ""
    whole = isinstance(value, int)
    return f"{known:,.{0 if whole else digits}f}".replace(",", "\u202f").replace("-", "\u2212")


def rate_text(value_kbps: Any, unit: Unit) -> str:
    """Return a rate in a unit, as `number_text` does."""
    known = number(value_kbps)
    return number_text(None if known is None else known * unit.per_kbps, unit.decimals)


def _total(rows: list[dict[str, Any]], *keys: str) -> float | None:
    values = [v for row in rows for key in keys if (v := number(row[key])) is not None]
    return sum(values) if values else None


def _by_stations(link: dict[str, Any]) -> list[tuple[str, int]]:
    """Sort names of stations so that n2 comes before n10."""
    ends = str(link["src"]), str(link["dst"])
    split = [re.fullmatch(r"(.*?)(\d*)", name) for name in ends]
    return [(found[1], int(found[2] or 0)) for found in split if found]


def _octets(octets: float | None) -> tuple[float | None, str]:
    """In the unit in which two decimals show something."""
    if octets is None or octets >= 1e6:
        return None if octets is None else octets / 1e6, "MB"
    return octets / 1e3, "kB"


def seen_once(
    flows: list[dict[str, Any]], connections: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the flows to add up: of two programs that measure the same connections at their ends,
    the first."""
    ends: dict[str, set[tuple[Any, ...]]] = {}
    for row in connections:
        here, there = (row["node"], row["port"]), (row["peer"], row["peer_port"])
        ends.setdefault(row["flow"], set()).add((row["protocol"], *sorted((here, there))))
    found, counted = [], set[tuple[Any, ...]]()
    for flow in flows:
        own = ends.get(flow["flow"], set())
        if not own or not own <= counted:
            found.append(flow)
        counted |= own
    return found


def _cards(
    manifest: Manifest,
    flows: list[dict[str, Any]],
    radios: list[dict[str, Any]],
    results: Results,
) -> list[dict[str, str]]:
    cards: list[dict[str, str]] = []

    def add(label: str, value: float | None, unit: str, digits: int = 1, note: str = "") -> None:
        if value is not None:
            text = number_text(round(value, digits) if digits else round(value), digits)
            cards.append({"label": label, "value": text, "unit": unit, "note": note})

    several = f"sum of {len(flows)} flows" if len(flows) > 1 else ""
    goodput_kbps = _total(flows, "goodput_kbps")
    rate = units.of_rates([goodput_kbps])
    add("Goodput", goodput_kbps and goodput_kbps * rate.per_kbps, rate.name, rate.decimals, several)
    delivered = _total(flows, "delivered_bytes")
    add("Delivered", *_octets(delivered), 2)
    add("Retransmits", _total(flows, "retransmits"), "segments", 0)
    rtts = [v for row in flows if (v := number(row["rtt_ms_mean"])) is not None]
    add("Mean RTT", sum(rtts) / len(rtts) if rtts else None, "ms")
    counted = [row for row in flows if row["lost"] is not None]
    sent, lost = _total(counted, "sent"), _total(counted, "lost")
    if sent and lost is not None:
        add("Packets lost", 100 * lost / sent, "%", 2, f"{lost:.0f} of {sent:.0f}")
    latencies = [v for row in flows if (v := number(row["latency_ms_mean"])) is not None]
    add("Mean delay", sum(latencies) / len(latencies) if latencies else None, "ms")
    if _asks_for_energy(results.scenario):
        energy = _total(radios, *(f"energy_{state}_j" for state in ("tx", "rx", "idle", "sleep")))
        if energy is None:
            last = {row["node"]: row["energy_j"] for row in results.rows("nodes")}
            energy = _total([{"j": value} for value in last.values()], "j")
        add("Energy", energy or None, "J", 1, "all radios")
    virtual, wall = manifest.virtual_s, manifest.wall_s
    if manifest.machine in REAL_TIME:
        add("Real time", virtual, "s", 1)
        return cards
    note = f"in {wall:.1f} s of wall time" if wall else ""
    if virtual and wall:
        note += f", {virtual / wall:.1f} to 1"
    add("Virtual time", virtual, "s", 1, note)
    return cards


def _asks_for_energy(scenario: Mapping[str, Any]) -> bool:
    """Return whether the scenario has powers or a battery that its profile has not."""
    radio = scenario.get("radio") or {}
    try:
        usual = radio_with_profile(Radio.model_validate({"profile": radio.get("profile")}))
    except (ValidationError, OSError):  # of another version
        return False
    kept = None if usual.energy is None else usual.energy.model_dump(exclude_none=True)
    return radio.get("energy") not in (None, kept)


def cards_in_row(cards: int) -> list[int]:
    """Return the number of cards in a row, on a wide page and on a medium one."""
    return [_in_row(cards, most) for most in CARDS_IN_ROW]


def _in_row(cards: int, most: int) -> int:
    """Return the cards of a row so that rows are few and full: no card is left alone."""
    rows = max(1, -(-cards // most))
    return -(-cards // rows)


def _airtime(radios: list[dict[str, Any]], duration_s: float) -> list[dict[str, Any]]:
    """Return, per radio, the share of the run, in percent, that it sent each kind of frame."""
    shares = []
    for radio in radios:
        parts = [
            {"kind": kind, "percent": 100 * (number(radio[f"airtime_{kind}_s"]) or 0) / duration_s}
            for kind in AIRTIME
        ]
        busy = number(radio["busy_s"])
        shares.append(
            {
                "node": radio["node"],
                "parts": parts,
                "total": sum(number(part["percent"]) or 0.0 for part in parts),
                "busy": None if busy is None else 100 * busy / duration_s,
            }
        )
    widest = max((share["total"] for share in shares), default=0.0)
    for share in shares:
        for part in share["parts"]:
            part["width"] = 100 * part["percent"] / widest if widest else 0.0
    return shares if widest else []


def _queues(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """Return, per queue, its last counts, its mean and largest backlog, and the mean of the waits
    that were stated. ``keys`` identify a queue."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        name = tuple(str(row[key]) for key in keys)
        queue = found.setdefault(name, {"count": 0, "sum": 0, "largest": 0, "waits": []})
        if row.get("sojourn_ms") is not None:
            queue["waits"].append(row["sojourn_ms"])
        backlog = row["backlog_packets"] or 0
        queue["count"] += 1
        queue["sum"] += backlog
        queue["largest"] = max(queue["largest"], backlog)
        queue["last"] = row
    return [
        {
            "mean": queue["sum"] / queue["count"],
            "wait_ms": fmean(queue["waits"]) if queue["waits"] else None,
            **queue,
        }
        for _, queue in sorted(found.items())
    ]


def _programs(scenario: Mapping[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each program of the scenario with its start, the time it was ready, its end and its
    status."""
    found: dict[str, dict[str, Any]] = {}
    for program in scenario.get("program") or ():
        began = {"start": None, "ready": None, "end": None, "status": ""}
        found[str(program["name"])] = {**program, **began}
    for event in events:
        name, _, status = str(event["detail"] or "").partition(" status=")
        kind = str(event["kind"]).removeprefix("program-")
        if name in found and kind in ("start", "ready", "end") and kind != event["kind"]:
            found[name] |= {kind: event["t_s"], "status": status or found[name]["status"]}
    return list(found.values())


def _splits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the totals of each station for each split flow, and the most that it held."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["flow"], row["role"], row["node"]
        most = found[key]["most"] if key in found else 0
        found[key] = {**row, "most": max(most, row["buffered"])}
    order = {"source": 0, "proxy": 1, "destination": 2}
    return sorted(found.values(), key=lambda row: (row["flow"], order[row["role"]]))


def _settings(by_station: Any) -> list[dict[str, Any]]:
    """Group stations with the same sysctls: ``stations``, ``values``."""
    groups: dict[str, dict[str, Any]] = {}
    for station, values in (by_station or {}).items():
        group = groups.setdefault(
            json.dumps(values, sort_keys=True), {"stations": [], "values": values}
        )
        group["stations"].append(station)
    return list(groups.values())


def _source(run_dir: Path) -> str:
    """Return the user's own text, or the resolved scenario of a run that did not start from a
    file."""
    for name in ("scenario.toml", "scenario.json"):
        try:
            return content(run_dir / name).decode("utf-8", "replace")
        except OSError:
            continue
    return ""
