# SPDX-License-Identifier: Apache-2.0
"""What scripts for Mininet-WiFi import, on a stand-in for it; and what becomes of a recording."""

import ast
import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hoplab.front.mininet import RecordingFailed, measured, plugins, recording, streamed
from hoplab.front.mininet import movement as walking
from hoplab.front.mininet.found import Found, builder
from hoplab.host.machine.sealed import Machine
from hoplab.host.results.reader import Results
from hoplab.host.runs import kinds
from hoplab.host.runs.kinds import Sealed
from hoplab.host.stream.file import File
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PACKAGE
from hoplab.show.report import data

STAND_IN = """
class manetProtocols:
    def __init__(self, intf, proto_args):
        eval(intf.proto)(intf, proto_args)
"""
ASK = """
import sys
import hoplab.front.mininet
import mn_wifi.manetRoutingProtocols as protocols
print(*(getattr(protocols, name).__name__ for name in "dsr aodv olsr dsdv split".split()))
rooms = {name.partition(".")[0] for name in sys.modules}
print(sorted(rooms & {"pydantic", "pyroute2", "pyarrow"}))
"""


def node(name: str, number: int, protocol: Any = None) -> SimpleNamespace:
    intf = SimpleNamespace(
        name=f"{name}-wlan0", ip=f"10.0.0.{number}", prefixLen="8", mac=f"02:00:00:00:0{number}:00"
    )
    made = SimpleNamespace(name=name, pid=100 + number, position=(40.0, 10, 0), wintfs={0: intf})
    if protocol is not None:
        setattr(made, plugins.HELD, protocol)
    return made


def without_starting(kind: type, **values: Any) -> Any:
    made = object.__new__(kind)
    vars(made).update(values)
    return made


def recorded(monkeypatch: pytest.MonkeyPatch, nodes: list[Any], **tables: Any) -> dict[str, Any]:
    """The scenario that `record` asks to be measured."""
    asked: list[dict[str, Any]] = []

    def start(request: dict[str, Any]) -> SimpleNamespace:
        asked.append(request)
        return SimpleNamespace(stdout=iter(['{"begin_ns": 0}\n']))

    monkeypatch.setattr(recording, "_start", start)
    recording.record(SimpleNamespace(stations=nodes), "one", **tables)
    return asked[0]


def test_one_import_gives_mininet_wifi_the_protocols(tmp_path: Path) -> None:
    """In an interpreter that has nothing but the standard library."""
    package = tmp_path / "mn_wifi"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "manetRoutingProtocols.py").write_text(STAND_IN)
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path[:0] = {_path(tmp_path)}" + ASK],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["Dsr Aodv Olsr Dsdv Split", "[]"], done.stderr


def _path(stand_in: Path) -> list[str]:
    return [str(stand_in), str(PACKAGE.parent)]


@pytest.mark.parametrize("module", ["__init__", "interpreter", "plugins", "recording"])
def test_scripts_need_the_standard_library_alone(module: str) -> None:
    tree = ast.parse((PACKAGE / "front" / "mininet" / f"{module}.py").read_text())
    names = {(node.module or "") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names
    }
    own = {name for name in names if name.partition(".")[0] == "hoplab"}
    assert own <= {
        "hoplab.front.mininet",
        "hoplab.front.mininet.recording",
        "hoplab.model.resources",
    }
    assert {name.partition(".")[0] for name in names - own} <= sys.stdlib_module_names


def test_settings_of_dsr_are_keys_and_values() -> None:
    assert plugins.settings(" a=1  b=x ", "dsr") == ["a=1", "b=x"]
    with pytest.raises(ValueError, match=r'proto="aodv".*\'a\' is no KEY=VALUE \(docs/aodv\.md'):
        plugins.settings("a", "aodv")


def test_split_takes_no_arguments() -> None:
    with pytest.raises(ValueError, match="split="):
        plugins.Split(SimpleNamespace(node=node("sta1", 1)), "proxies=sta2")


@pytest.mark.parametrize(
    ("kinds", "protocol"),
    [
        ((plugins.Aodv, plugins.Aodv), "aodv"),
        ((plugins.Dsr, plugins.Aodv), "own"),
        ((plugins.Aodv, None), "own"),
    ],
)
def test_the_protocol_is_that_of_every_station(
    monkeypatch: pytest.MonkeyPatch, kinds: tuple[Any, Any], protocol: str
) -> None:
    held = [
        kind and without_starting(kind, settings=[], stop=lambda: None, start=lambda: None)
        for kind in kinds
    ]
    nodes = [node(f"sta{i}", i, one) for i, one in enumerate(held, start=1)]
    flow = [{"source": "sta1", "destination": "sta2"}]
    asked = recorded(monkeypatch, nodes, flow=flow, duration_s=5.0)
    assert asked["scenario"]["routing"]["protocol"] == protocol


def test_a_script_s_network_is_a_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its addresses, interfaces and protocols are those that the lab's parts receive."""
    dsr = without_starting(
        plugins.Dsr, settings=["discovery_hop_limit=5"], stop=lambda: None, start=lambda: None
    )
    nodes = [node("sta1", 1, dsr), node("sta2", 2, dsr)]
    flow = [{"source": "sta1", "destination": "sta2", "congestion_control": "vegas"}]
    asked = recorded(monkeypatch, nodes, flow=flow, duration_s=5.0, seed=3)
    assert asked["pids"] == {"sta1": 101, "sta2": 102}
    scenario = resolve(parse(asked["scenario"], "record"))
    found = plan(scenario)
    assert scenario.seed == 3 and scenario.routing.protocol == "dsr"
    assert scenario.routing.settings == {"discovery_hop_limit": 5}
    assert found.interface == {"sta1": "sta1-wlan0", "sta2": "sta2-wlan0"}
    assert found.mac["sta2"] == "02:00:00:00:02:00"
    assert found.network_prefix("sta1") == 8
    assert found.conversations[0].destination_address == "10.0.0.2"
    # What it resolves to is what the run's folder has: the same scenario once more.
    assert resolve(scenario) == scenario
    with pytest.raises(ScenarioError, match="hoplab mininet"):
        kinds.builder_of(scenario)


@pytest.mark.parametrize(
    ("lab", "error"),
    [
        ("print('{\"begin_ns\": 0}')", None),
        ("import time; print('{\"begin_ns\": 0}', flush=True); time.sleep(60)", KeyError),
        ("raise SystemExit(4)", RecordingFailed),
    ],
    ids=["ended", "the script failed", "never began"],
)
def test_a_network_gets_its_routing_back(
    monkeypatch: pytest.MonkeyPatch, lab: str, error: type[Exception] | None
) -> None:
    """However its measurement ends."""
    told: list[str] = []
    dsr = without_starting(
        plugins.Dsr, settings=[], stop=lambda: told.append("stop"), start=lambda: told.append("go")
    )

    def start(request: dict[str, Any]) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", lab], stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(recording, "_start", start)
    with (
        pytest.raises(error) if error else contextlib.nullcontext(),
        recording.record(SimpleNamespace(stations=[node("sta1", 1, dsr)])),
    ):
        if error:
            raise error
    assert told == ["stop", "go"]


def test_stations_with_split_are_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    split = without_starting(plugins.Split)
    nodes = [node("sta1", 1), node("sta2", 2, split), node("sta3", 3)]
    flow = [{"source": "sta1", "destination": "sta3"}]
    scenario = resolve(parse(recorded(monkeypatch, nodes, flow=flow)["scenario"], "record"))
    assert scenario.routing.protocol == "own"
    assert plan(scenario).conversations[0].proxies == ("sta2",)


def test_a_network_without_stations_is_refused() -> None:
    with pytest.raises(RecordingFailed, match="no station"):
        recording.record(SimpleNamespace(stations=[]))


def test_a_stream_from_within_a_guest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(recording.OUT, "/out")
    with pytest.raises(RecordingFailed, match="hoplab mininet"):
        recording.record(SimpleNamespace(stations=[node("sta1", 1)]), stream=["x"])


def test_what_only_a_script_s_network_has() -> None:
    document = {"topology": {"kind": "pair"}, "network": {"built_by": "script"}}
    with pytest.raises(ScenarioError, match="port: not given"):
        resolve(parse(document, "x"))


def test_mininet_wifi_s_stations_are_in_no_sealed_machine() -> None:
    chain = {"topology": {"kind": "chain"}, "network": {"built_by": "mininet-wifi"}}
    with pytest.raises(ScenarioError, match="sealed machine"):
        Sealed(Machine(Path(), "", {})).require(resolve(parse(chain, "x")))


def test_mininet_wifi_s_radios_are_for_2_4_ghz() -> None:
    document = {
        "topology": {"kind": "chain", "spacing_m": 20},
        "radio": {"profile": "80211a"},
        "network": {"built_by": "mininet-wifi"},
    }
    with pytest.raises(ScenarioError, match=r"radio\.channel: 36"):
        builder(resolve(parse(document, "x")))


def test_the_medium_s_counts_begin_with_the_measurement() -> None:
    """Samples of a medium that began 3 s before time 0."""

    def row(t_s: float, frames: int, busy: float) -> dict[str, Any]:
        zeros = dict.fromkeys(("tx_bytes", "rx_frames", "rx_bytes", "retries", "failed"), 0)
        rest = {"queue_len": 2, "queue_drops": 0, "busy_fraction": busy, "energy_j": t_s}
        place = {"x_m": 1.0, "y_m": 2.0}
        return {"t_s": t_s, "node": "sta1", **place, "tx_frames": frames, **zeros, **rest}

    rows = [row(1.0, 10, 0.5), row(3.0, 30, 0.5), row(5.0, 70, 0.7)]
    (found,) = measured._from_zero(iter(rows), "nodes", -3.0)
    assert (found["t_s"], found["tx_frames"], found["energy_j"]) == (2.0, 40, 2.0)
    assert found["busy_fraction"] == pytest.approx((0.7 * 5 - 0.5 * 3) / 2)
    assert found["queue_len"] == 2


def test_what_the_lab_said_last_is_told() -> None:
    told = [json.dumps({"t_s": 1}), "no JSON", json.dumps({"error": "dsr: died"})]
    assert str(recording._failure(told, 4)) == "dsr: died"
    assert str(recording._failure([], 4)) == "record: ended with status 4"


MODEL = """
class model:
    def models(self, mob_nodes, seed, mob_model, max_x, max_y, **others):
        for node in mob_nodes:
            node.max_v = node.params["max_v"]
        def steps():
            x = 0.0
            while True:
                yield [(x, seed)] * len(mob_nodes)
                x += mob_nodes[0].max_v / 10
        if mob_model == "GaussMarkov":
            raise AttributeError("no such thing")
        self.start_mob_mod(steps(), mob_nodes, False)
"""
WALK: dict[str, Any] = {
    "topology": {"kind": "mininet-wifi", "model": "RandomDirection", "stations": 2},
    "duration_s": 3,
    "seed": 5,
}


@pytest.fixture
def mobile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Mininet-WiFi with a model that is no more than a line."""
    (tmp_path / "mn_wifi").mkdir()
    (tmp_path / "mn_wifi" / "__init__.py").write_text("")
    (tmp_path / "mn_wifi" / "mobility.py").write_text(MODEL)
    monkeypatch.setattr(walking, "find", lambda: Found(sys.executable, tmp_path))


@pytest.mark.usefixtures("mobile")
def test_its_mobility_models_become_waypoints() -> None:
    """A step a second, speeds in its unit of 0.1 m/s, the scenario's seed."""
    first, _ = resolve(parse(WALK, "x"), walk=walking.walk).station
    assert first.waypoints == ((0, 0, 5), (1, 20, 5), (2, 40, 5), (3, 60, 5))


@pytest.mark.usefixtures("mobile")
def test_a_model_that_fails_is_one_line() -> None:
    topology = {**WALK["topology"], "model": "GaussMarkov"}
    with pytest.raises(ScenarioError, match=r"model: GaussMarkov: .*no such thing; choose"):
        resolve(parse({**WALK, "topology": topology}, "x"), walk=walking.walk)


def test_speeds_are_of_models_that_take_them() -> None:
    topology = {**WALK["topology"], "model": "GaussMarkov", "max_speed_mps": 3.0}
    with pytest.raises(ScenarioError, match="RandomDirection or RandomWayPoint"):
        parse({**WALK, "topology": topology}, "x")


def test_samples_of_recordings_reach_sinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each recording that begins in the folder is followed, to its last row."""
    asked = recorded(monkeypatch, [node("sta1", 1), node("sta2", 2)])
    scenario = resolve(parse(asked["scenario"], "record"))
    lines: list[str] = []
    with streamed.follow(tmp_path, lambda: [File(tmp_path / "told")], True, lines.append):
        raw = tmp_path / "one" / "raw"
        raw.mkdir(parents=True)
        (raw.parent / "scenario.json").write_text(scenario.model_dump_json(exclude_none=True))
        begun = {"status": None, "realtime_epoch_ns": 10**18}
        (raw / "verdict.json").write_text(json.dumps(begun))
        event = {"t_s": 1, "node": "sta1", "source": "dsr", "kind": "x", "detail": ""}
        (raw / "events.jsonl").write_text(json.dumps(event) + "\n")
        deadline = time.monotonic() + 10
        while not (tmp_path / "told").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        (raw / "verdict.json").write_text(json.dumps({**begun, "status": 0}))
    told = (tmp_path / "told").read_text().splitlines()
    assert [line for line in told if line.startswith("hoplab_events,run=one,node=sta1")]
    assert any("complete" in line for line in told if line.startswith("hoplab_run"))
    assert any(line.startswith("stream: ") for line in lines)


def test_a_script_s_report_draws_no_range_that_nobody_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = recorded(monkeypatch, [node("sta1", 1), node("sta2", 2)])
    scenario = resolve(parse(asked["scenario"], "record"))
    assert scenario.radio.range_m is not None
    found = Results(tmp_path, {}, json.loads(scenario.model_dump_json(exclude_none=True)))
    assert data._map(found, scenario)["range_m"] is None
