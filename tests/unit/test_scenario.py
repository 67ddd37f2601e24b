# SPDX-License-Identifier: Apache-2.0
"""A scenario's mistakes are named in one line each; a good one resolves to itself."""

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hoplab.front.commands.cli import app
from hoplab.front.pages import keys as schema
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.declare import MAX_DURATION_S
from hoplab.model.keys.split import Split
from hoplab.model.keys.variants import OF_THE_KERNEL
from hoplab.model.movement import Trace
from hoplab.model.network.plan import plan
from hoplab.model.network.reach import neighbours
from hoplab.model.resolve import mistakes
from hoplab.model.resolve.file import load
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT
from tests.scenarios import TWO_HOPS

KEYS_OF = re.compile(r"<!-- keys of (\w+) -->")
CHAIN = """
duration_s = 5
[topology]
kind = "chain"
[[flow]]
source = "n0"
destination = "n3"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('titel = "x"', ["titel", "did you mean 'title'"]),
        ('[topology]\nkind = "chian"', ["topology.kind", "'chian'", "'chain'"]),
        ("duration_s = -1", ["duration_s", "-1", "greater than 0"]),
        ('[routing]\nprotocol = "dsrr"', ["routing.protocol", "'dsr'"]),
        ("[radio]\nrate_mbps = 3", ["radio.rate_mbps", "802.11"]),
        (CHAIN + "windw = 8", ["flow.0.windw", "'window'"]),
        (CHAIN.replace('"n3"', '"n9"'), ["flow.0.destination", "n9"]),
        ("x = ", ["not valid TOML"]),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as error:
        resolve(load(write(tmp_path, text)))
    for word in words:
        assert word in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_overrides(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, CHAIN), ["flow.0.window=8", "routing.protocol=dsr"])
    assert scenario.flow[0].window == 8
    assert scenario.routing.protocol == "dsr"
    with pytest.raises(ScenarioError, match="index 0 only"):
        load(write(tmp_path, CHAIN), ["flow.3.window=8"])


def test_resolved_scenario_resolves_to_itself(tmp_path: Path) -> None:
    once = resolve(load(write(tmp_path, CHAIN)))
    assert len(once.station) == 4
    assert resolve(once) == once


EXPERIMENTS = [
    *sorted((PROJECT / "experiments").glob("*.toml")),
    *sorted((PROJECT / "experiments").glob("*/scenario*.toml")),
]


@pytest.mark.parametrize("path", EXPERIMENTS)
def test_every_experiment_is_valid(path: Path) -> None:
    resolve(load(path), path.parent)


UNEQUAL = """
duration_s = 5
[radio]
nic = { rx_packet_us = 100, tx_ring = 8 }
[[station]]
name = "fast"
[[station]]
name = "slow"
x_m = 10
nic = { rx_packet_us = 500, rx_buffer_packets = 4 }
[[station]]
name = "wired"
radio = false
"""


def test_a_stations_own_card_goes_over_that_of_all(tmp_path: Path) -> None:
    resolved = resolve(load(write(tmp_path, UNEQUAL)))
    fast, slow, _ = resolved.station
    assert resolved.radio.nic is not None and slow.nic is not None
    assert (fast.nic, resolved.radio.nic.rx_packet_us) == (None, 100)
    assert (slow.nic.rx_packet_us, slow.nic.tx_ring, slow.nic.rx_buffer_packets) == (500, 8, 4)
    again = resolve(resolved)
    assert again == resolved
    with pytest.raises(ScenarioError, match=r"station\.2: nic is a radio's"):
        load(write(tmp_path, UNEQUAL + "nic = { tx_ring = 1 }"))


@pytest.mark.parametrize("profile", ["80211n", "80211ac", "80211ax"])
@pytest.mark.parametrize(
    ("key", "shown"), [("tx_ring", "8"), ("tx_load_us", "0.5"), ("tx_load_mbps", "16")]
)
def test_a_card_by_access_categories_has_no_buffers(
    tmp_path: Path, profile: str, key: str, shown: str
) -> None:
    refused = re.escape(f'{key}: {shown}, but radio.rules is "edca"')
    common = CHAIN + f'[radio]\nprofile = "{profile}"\nnic = {{ {key} = {shown} }}\n'
    with pytest.raises(ScenarioError, match=r"^radio\.nic\." + refused):
        resolve(load(write(tmp_path, common)))
    own = f'[radio]\nprofile = "{profile}"\n[[station]]\nname = "a"\nnic = {{ {key} = {shown} }}\n'
    with pytest.raises(ScenarioError, match=r"^station a: nic\." + refused):
        resolve(load(write(tmp_path, "duration_s = 5\n" + own)))


def test_a_threshold_in_dbm_replaces_the_profiles_distance(tmp_path: Path) -> None:
    text = CHAIN + "[radio]\nrx_threshold_dbm = -70\n"
    radio = resolve(load(write(tmp_path, text))).radio
    assert (radio.range_m, radio.rx_threshold_dbm, radio.carrier_sense_m) == (None, -70, 550)
    with pytest.raises(ScenarioError, match="remove one"):
        resolve(load(write(tmp_path, text + "range_m = 100\n")))


@pytest.mark.parametrize("name", ["walk.ns2", "walk.movements.gz"])
def test_movement_leaves_and_comes_back(tmp_path: Path, name: str) -> None:
    walk = 'duration_s = 50\n[topology]\nkind = "random-waypoint"\nstations = 3\n'
    arguments = ["check", "--print", str(write(tmp_path, walk)), "--movement", str(tmp_path / name)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    trace = f'duration_s = 50\n[topology]\nkind = "trace"\nstations = 3\nmovement = "{name}"\n'
    again = resolve(load(write(tmp_path, trace)), tmp_path)
    written = tomllib.loads(done.output)["station"]
    assert [station.name for station in again.station] == [one["name"] for one in written]
    for station, one in zip(again.station, written, strict=True):
        for t_s in (0.0, 12.5, 49.0):
            assert Trace.of(station.waypoints).at(t_s) == pytest.approx(
                Trace.of(one["waypoints"]).at(t_s), abs=1e-3
            )


def test_a_leg_may_end_after_the_longest_run(tmp_path: Path) -> None:
    """A random waypoint's last leg ends after the run, however long that is."""
    topology = '[topology]\nkind = "random-waypoint"\nstations = 2\nmax_speed_mps = 1\n'
    found = resolve(load(write(tmp_path, f"duration_s = {MAX_DURATION_S}\n" + topology)))
    assert all(station.waypoints[-1][0] > MAX_DURATION_S for station in found.station)


def test_static_routes_start_from_waypoints(tmp_path: Path) -> None:
    """A station with waypoints only is where they begin, not at the origin."""
    text = "duration_s = 5\n" + "".join(
        f'[[station]]\nname = "n{i}"\nwaypoints = [[0, {200 * i}, 0], [5, {200 * i}, 9]]\n'
        for i in range(3)
    )
    found = resolve(load(write(tmp_path, text)))
    assert [station.x_m for station in found.station] == [0, 200, 400]
    assert neighbours(found) == {"n0": ["n1"], "n1": ["n0", "n2"], "n2": ["n1"]}


def test_a_key_is_taken_under_its_old_name(tmp_path: Path) -> None:
    file = write(tmp_path, CHAIN + '[network]\ndsr = "daemon"\n')
    assert load(file).network == load(file, ["network.dsr=daemon"]).network
    assert load(file).network.routing == "daemon"
    assert "dsr" not in load(file).network.model_dump()
    with pytest.raises(ScenarioError, match="old name of routing; remove dsr"):
        load(file, ["network.routing=kernel"])
    with pytest.raises(ScenarioError, match=r"network\.routing"):
        load(file, ["network.dsr=demon"])


@pytest.mark.parametrize(("stations", "found"), [("", 3), ("stations = 2", 2)])
def test_a_trace_takes_the_first_stations(tmp_path: Path, stations: str, found: int) -> None:
    (tmp_path / "m.movements").write_text("0 1 2\n0 3 4\n0 5 6\n")
    text = f'duration_s = 5\n[topology]\nkind = "trace"\nmovement = "m.movements"\n{stations}\n'
    assert len(resolve(load(write(tmp_path, text)), tmp_path).station) == found
    with pytest.raises(ScenarioError, match="moves 3"):
        resolve(load(write(tmp_path, text), ["topology.stations=4"]), tmp_path)


LONG_CHAIN = CHAIN.replace('kind = "chain"', 'kind = "chain"\nstations = 9').replace("n3", "n8")


@pytest.mark.parametrize(
    ("text", "proxies", "every_hops"),
    [
        ('[split]\nproxies = ["n6", "n3"]', ("n3", "n6"), None),
        ("[split]\nevery_hops = 3", ("n3", "n6"), None),
        ("[split]\nevery_hops = 7", ("n7",), None),
        ('split = { every_hops = 4 }\n[split]\nproxies = ["n1"]', ("n4",), None),
        # Only the routing daemon knows which stations a segment comes by.
        ('[split]\nevery_hops = 3\n[routing]\nprotocol = "dsr"', (), 3),
        ('[split]\nevery_hops = 3\n[routing]\nprotocol = "babeld"', (), 3),
        ('[split]\nevery_hops = 3\n[routing]\nprotocol = "batman-adv"', ("n3", "n6"), None),
        ("split = false\n[split]\nevery_hops = 3", (), None),
    ],
)
def test_proxies_of_a_split_flow(
    tmp_path: Path, text: str, proxies: tuple[str, ...], every_hops: int | None
) -> None:
    resolved = resolve(load(write(tmp_path, LONG_CHAIN + text)))
    assert resolve(resolved) == resolved
    (conversation,) = plan(resolved).conversations
    assert conversation.proxies == proxies
    if not proxies and every_hops is None:
        assert conversation.split is None
        return
    assert conversation.split is not None
    assert conversation.split.proxies == tuple(f"10.0.0.{int(name[1:]) + 1}" for name in proxies)
    assert conversation.split.every_hops == every_hops
    assert conversation.flow.congestion_control == "window"
    assert conversation.flow.window == conversation.split.window == 64
    # Below that ACKs from end to end cost more than proxies gain (docs/split-tcp.md).
    assert conversation.split.ack_every == 8


def test_a_flow_takes_what_it_leaves_open_from_split(tmp_path: Path) -> None:
    text = LONG_CHAIN + "split = { window = 9 }\n[split]\nevery_hops = 2\nbuffer_packets = 5"
    (flow,) = resolve(load(write(tmp_path, text))).flow
    assert flow.split == Split(every_hops=2, buffer_packets=5, window=9)


def test_congestion_controls_are_those_of_the_guest() -> None:
    fragment = PROJECT / "kernel-modules" / "guest" / "fragments" / "40-tcp.config"
    found = {
        line.removeprefix("CONFIG_TCP_CONG_").removesuffix("=y").lower()
        for line in fragment.read_text().splitlines()
        if line.startswith("CONFIG_TCP_CONG_") and line.endswith("=y")
    }
    assert found - {"advanced"} == {*OF_THE_KERNEL, "westwood", "vegas"}


def test_the_schema_in_the_package_is_that_of_the_declarations() -> None:
    """Else: python -m hoplab.front.pages.keys"""
    assert schema.SCHEMA.read_text() == schema.text()
    assert CliRunner().invoke(app, ["schema"]).output == schema.text()


@pytest.mark.parametrize("path", schema.PAGES)
def test_the_pages_of_keys_are_those_of_the_declarations(path: Path) -> None:
    """Else: python -m hoplab.front.pages.keys"""
    text = path.read_text()
    assert schema.page(text) == text


def test_every_table_has_its_place_in_a_page() -> None:
    shown = {name for path in schema.PAGES for name in KEYS_OF.findall(path.read_text())}
    tables = {"Scenario", *schema.document()["$defs"]}
    # The medium's own file is described by its --help.
    assert shown == tables - {"MediumFile", "RadioStation", "Records"}


def test_the_settings_for_the_core_s_tests_are_those_declared() -> None:
    """Else: python -m hoplab.front.pages.keys"""
    for path, made in schema.core_settings().items():
        assert path.read_text() == made


def test_every_key_has_a_sentence() -> None:
    made = schema.document()
    for name, table in [("Scenario", made), *made["$defs"].items()]:
        for key, declared in table["properties"].items():
            assert declared.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("name", ["gentle", "bbr2", "cubic_x", "reno3"])
def test_a_flow_may_name_a_module_of_the_users_own(tmp_path: Path, name: str) -> None:
    text = CHAIN + f'congestion_control = "{name}"\n'
    assert resolve(load(write(tmp_path, text))).flow[0].congestion_control == name


@pytest.mark.parametrize(
    ("name", "hint"), [("cubik", "cubic"), ("wesstwood", "westwood"), ("Vegas", "vegas")]
)
def test_a_mistaken_congestion_control_is_refused(tmp_path: Path, name: str, hint: str) -> None:
    text = CHAIN + f'congestion_control = "{name}"\n'
    with pytest.raises(ScenarioError, match=f"'{name}' is not known.*did you mean '{hint}'"):
        resolve(load(write(tmp_path, text)))


SEVERAL = """
duration_s = 10
[topology]
kind = "chain"
stations = 3
[[flow]]
source = "n0"
destination = "n9"
windw = 3
[[flow]]
source = "n8"
destination = "n1"
[[flow]]
destination = "n1"
[[flow]]
source = "n0"
destination = "n7"
protocol = "udb"
[measure]
interval_s = 20
[[event]]
at_s = 99
kind = "down"
station = "n1"
"""


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    """Those between tables too, but none that may come of another."""
    with pytest.raises(ScenarioError) as caught:
        mistakes.load(tomllib.loads(SEVERAL), "x.toml")
    found = [
        re.sub(r"^x.toml: ", "", line).partition(": ")[0] for line in str(caught.value).splitlines()
    ]
    assert found == [
        *("flow.0.windw", "flow.2.source", "flow.3.protocol"),
        *("event.0.at_s", "flow.0.destination", "flow.1.source", "measure.interval_s"),
    ]


@pytest.mark.parametrize("wrong", ["station = 3", "topology.stations = 'x'", "flwo = 1"])
def test_what_depends_on_a_mistake_is_not_told(wrong: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        mistakes.load(tomllib.loads(wrong + "\n[[flow]]\nsource='n0'\ndestination='n5'"), "x.toml")
    assert len(str(caught.value).splitlines()) == 1


def test_check_says_that_a_scenario_is_valid_in_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, f"duration_s = 5\n{TWO_HOPS}")
    told = CliRunner().invoke(app, ["check", str(path)]).stdout
    assert (
        told == f"{path}: valid: 3 stations, 1 flow, 5 s; --print shows it with all of its keys\n"
    )
    whole = CliRunner().invoke(app, ["check", str(path), "--print"]).stdout
    assert tomllib.loads(whole)["station"][2]["name"] == "n2"
