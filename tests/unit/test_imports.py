# SPDX-License-Identifier: Apache-2.0
"""Networks of other tools become scenarios, which say what they left out. No file of others does
more than that."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hoplab.front.commands import cli
from hoplab.front.imports import formats, network
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve.file import load, parse
from hoplab.model.resolve.resolve import resolve
from tests.maps import city

MAP: dict[str, Any] = {
    "nodes": [
        {"node_id": "a", "hostname": "Rathaus", "location": {"latitude": 50, "longitude": 8}},
        {"node_id": "b", "hostname": "mill", "location": {"latitude": 50, "longitude": 8.001}},
        {"node_id": "c", "hostname": "mill"},
        {"node_id": "d", "hostname": "off", "is_online": False},
        {"node_id": "e", "hostname": "alone"},
    ],
    "links": [
        {"type": "wifi5", "source": "a", "target": "b", "source_tq": 0.9, "target_tq": 127.5},
        {"type": "lan", "source": "b", "target": "c", "source_tq": 1, "target_tq": 1},
        {"type": "vpn", "source": "a", "target": "c", "source_tq": 1, "target_tq": 1},
        {"type": "wifi", "source": "a", "target": "d", "source_tq": 1, "target_tq": 1},
    ],
}
CORE = """<?xml version='1.0' encoding='UTF-8'?>
<scenario name="x">
  <networks>
    <network id="9" name="air" type="WIRELESS_LAN"><position x="9" y="9"/></network>
    <network id="8" name="sw" type="SWITCH"><position x="0" y="0"/></network>
  </networks>
  <devices>
    <device id="1" name="n1" type="mdr"><position x="100" y="0"/>
      <services><service name="OSPFv3"/></services></device>
    <device id="2" name="n2" type="mdr"><position x="200" y="40"/></device>
    <device id="3" name="web server" type="host"><position x="0" y="0"/></device>
  </devices>
  <links>
    <link node1="9" node2="1"/><link node1="9" node2="2"/>
    <link node1="8" node2="3"/>
    <link node_one="2" node_two="8">
      <options bandwidth="10000000" delay="5000" per="2.5" jitter="10"/></link>
  </links>
  <mobility_configurations>
    <mobility_configuration node="9" model="basic_range">
      <configuration name="range" value="120"/></mobility_configuration>
  </mobility_configurations>
  <session_origin lat="1" lon="2" alt="3" scale="50"/>
</scenario>
"""
MINIEDIT: dict[str, Any] = {
    "hosts": [
        {"number": "1", "opts": {"hostname": "h1", "startCommand": "x"}, "x": "10", "y": "20.5"},
        {"number": "2", "opts": {"hostname": "h2"}, "x": "30", "y": "20"},
    ],
    "switches": [{"number": "1", "opts": {"hostname": "s1"}, "x": "20", "y": "20"}],
    "controllers": [{"opts": {"hostname": "c0"}}],
    "links": [
        {"src": "h1", "dest": "s1", "opts": {"bw": 10, "delay": "5ms", "loss": 1}},
        {"src": "s1", "dest": "h2", "opts": {"max_queue_size": "20", "speedup": 1}},
        {"src": "c0", "dest": "s1", "opts": {}},
    ],
}
CLAB = """
name: ring
topology:
  nodes:
    r1: {kind: linux, image: "frr:8"}
    r2: {kind: linux}
    core-1: {kind: bridge}
  links:
    - endpoints: ["r1:eth1", "core-1:e1"]
    - type: veth
      endpoints: [{node: core-1, interface: e2}, {node: r2, interface: eth1}]
    - endpoints: ["r2:eth9", "host:veth0"]
    - {type: mgmt-net, endpoint: {node: r1, interface: eth5}}
"""


def imported(path: Path, routing: str = "static") -> tuple[Resolved, list[str]]:
    """The scenario of a file, by the text that is written, and what it left out."""
    found = formats.read(path, None)
    path.with_suffix(".toml").write_text(formats.text(found, routing, path.name))
    return resolve(load(path.with_suffix(".toml")), path.parent), formats.left_out(found)


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_map_becomes_measured_links_with_losses(tmp_path: Path) -> None:
    scenario, left = imported(written(tmp_path / "map.json", MAP))
    assert [(s.name, s.radio) for s in scenario.station] == [
        *(("rathaus", True), ("mill", True), ("n2", False)),
    ]
    a, b = scenario.station[:2]
    # A thousandth of a degree of longitude at 50 degrees north is 71.7 m (WGS84).
    assert (b.x_m - a.x_m, b.y_m - a.y_m) == pytest.approx((71.7, 0), abs=0.1)
    assert {(link.src, link.dst) for link in scenario.snr} == {
        *(("rathaus", "mill"), ("mill", "rathaus")),
    }
    assert {(x.src, x.rate) for x in scenario.loss} == {("rathaus", 0.1), ("mill", 0.5)}
    assert [link.ends for link in scenario.link] == [("mill", "n2")]
    assert {scenario.flow[0].source, scenario.flow[0].destination} == {"rathaus", "n2"}
    assert left == [
        *("1 nodes that are offline", "1 links through tunnels"),
        *("1 links of nodes that are not there", "1 nodes without a link by radio or LAN"),
        "1 places that the map does not have",
    ]


def test_the_older_pair_of_files_has_the_same_network(tmp_path: Path) -> None:
    """In ``graph.json`` a link's ``tq`` is 1 / TQ."""
    nodes = [
        {"nodeinfo": {"node_id": key, "hostname": f"node-{key}"}, "flags": {"online": key != "c"}}
        for key in "abc"
    ]
    file = written(tmp_path / "nodes.json", {"version": 2, "nodes": nodes})
    with pytest.raises(ScenarioError, match=r"no graph.json is beside it"):
        formats.read(file, None)
    members = [{"id": "x", "node_id": key} for key in "abc"]
    links = [{"source": 0, "target": 1, "tq": 1.25}, {"source": 1, "target": 2, "tq": 1}]
    graph = {"version": 1, "batadv": {"nodes": members, "links": links}}
    written(tmp_path / "graph.json", graph)
    scenario, left = imported(file)
    assert [loss.rate for loss in scenario.loss] == [0.2, 0.2]
    assert "1 nodes that are offline" in left


def test_cores_wlan_is_a_channel_and_its_switch_routes(tmp_path: Path) -> None:
    scenario, left = imported(written(tmp_path / "core.xml", CORE))
    assert [(s.name, s.radio, s.x_m, s.y_m) for s in scenario.station] == [
        ("n1", True, 50, 0),
        ("n2", True, 100, -20),
        ("n3", False, 0, 0),
        ("sw", False, 0, 0),
    ]
    assert scenario.radio.range_m == 60  # 120 pixels, 50 m to 100 of them
    link = next(link for link in scenario.link if "n2" in link.ends)
    assert (link.rate_mbps, link.delay_ms, link.loss) == (10, 5, 0.025)
    assert {scenario.flow[0].source, scenario.flow[0].destination} == {"n1", "n3"}
    assert left == [
        *("1 services of devices", "1 switches and hubs, which are routers now"),
        "1 jitter of links",
    ]


def test_two_wlans_of_core_are_backbones_on_channels_of_their_own(tmp_path: Path) -> None:
    more = CORE.replace('type="SWITCH"', 'type="EMANE"')
    scenario, _ = imported(written(tmp_path / "core.xml", more))
    assert {b.channel: set(b.stations) for b in scenario.backbone} == {
        36: {"n1", "n2"},
        40: {"n2", "n3"},
    }


def test_miniedits_links_keep_their_options(tmp_path: Path) -> None:
    scenario, left = imported(written(tmp_path / "net.mn", MINIEDIT))
    assert not any(station.radio for station in scenario.station)
    first, second = scenario.link
    assert (first.rate_mbps, first.delay_ms, first.loss) == (10, 5, 0.01)
    assert second.queue.packets == 20
    assert left == [
        *("1 startCommand of hosts", "1 switches, which are routers now", "1 controllers"),
        *("1 speedup of links", "1 links of controllers"),
    ]


def test_containerlabs_topology_is_wires(tmp_path: Path) -> None:
    scenario, left = imported(written(tmp_path / "ring.clab.yml", CLAB))
    assert [link.ends for link in scenario.link] == [("r1", "n2"), ("n2", "r2")]
    assert {scenario.flow[0].source, scenario.flow[0].destination} == {"r1", "r2"}
    assert "2 links to the host or out of the lab" in left


@pytest.mark.parametrize("routing", formats.PROTOCOLS)
def test_a_city_of_200_is_valid_under_every_protocol(routing: str, tmp_path: Path) -> None:
    found = formats.read(written(tmp_path / "city.json", city(200)), None)
    assert len(resolve(parse(found.document(routing), "city"), tmp_path).station) == 200


def test_no_pair_of_a_tree_is_farther_apart_than_the_flows_ends() -> None:
    pairs = [("hub", "a1"), ("a1", "a2"), ("hub", "b1"), ("b1", "b2"), ("b2", "b3"), ("hub", "c1")]
    assert set(network.farthest(pairs) or ()) == {"a2", "b3"}
    assert network.farthest([]) is None


def test_the_command_writes_once_and_tells_what_it_left_out(tmp_path: Path) -> None:
    file, out = written(tmp_path / "ring.clab.yml", CLAB), tmp_path / "ring.toml"
    done = CliRunner().invoke(cli.app, ["import", str(file), str(out)])
    assert done.exit_code == 0
    assert f"{out}: written, 3 stations; next: hoplab run {out}" in done.output
    assert "# Left out: 1 image of nodes." in out.read_text()
    with pytest.raises(ScenarioError, match=r"ring\.toml: is there already; name a new file"):
        cli.command()(["import", str(file), str(out)], standalone_mode=False)


DEEP = 100_000
WIRES = {"hosts": [{"number": n, "opts": {}} for n in (1, 2)]}
HOSTILE: dict[str, tuple[str, Any, str]] = {
    "no JSON": ("a.json", "{", "expected JSON"),
    "deep JSON": ("a.json", "[" * DEEP + "]" * DEEP, "nested too deeply"),
    "a list": ("a.json", [1], "a list; expected an object"),
    "nodes": ("a.json", {"nodes": 1}, "nodes: '1'; expected a list"),
    "no links": ("a.json", {"nodes": []}, "has no links"),
    "NaN": ("a.json", '{"nodes": NaN}', "NaN is no number of JSON"),
    "no place": (
        "a.json",
        {"nodes": [{"node_id": "a", "location": {"latitude": 91, "longitude": 8}}], "links": []},
        "expected degrees of a place on Earth",
    ),
    "far apart": (
        "a.json",
        {
            **MAP,
            "nodes": [
                {"node_id": key, "location": {"latitude": 1, "longitude": place}}
                for key, place in (("a", 0), ("b", 90))
            ],
        },
        "expected places of one region",
    ),
    "quality": (
        "a.json",
        {**MAP, "links": [{"source": "a", "target": "b", "source_tq": 300}]},
        "source_tq: 300; expected 0 to 1, or up to 255",
    ),
    "a number of digits": (
        "a.json",
        '{"nodes": [{"node_id": "a", "location": {"latitude": 1' + "0" * 400 + "}}]}",
        "expected a number",
    ),
    "more digits": ("a.json", '{"nodes": 1' + "0" * 5000 + "}", "expected JSON"),
    "nobody": ("a.json", {"nodes": [], "links": []}, "has no node"),
    "stations": ("a.json", city(2001), "has more than 2000 stations"),
    "entities": (
        "a.xml",
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><scenario/>',
        "has a DOCTYPE",
    ),
    "a file by an entity": (
        "a.xml",
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><scenario>&a;</scenario>',
        "has a DOCTYPE",
    ),
    "deep XML": ("a.xml", "<scenario>" + "<a>" * DEEP, "nested too deeply"),
    "another root": ("a.xml", "<svg/>", "expected <scenario>"),
    "no XML": ("a.xml", "nodes", "expected XML with the element <scenario>"),
    "no id": ("a.xml", '<scenario><device name="x"/></scenario>', "<device> has no id"),
    "half a link": ("a.xml", '<scenario><link node1="1"/></scenario>', "lacks an end"),
    "a link of strangers": (
        "a.xml",
        '<scenario><link node1="1" node2="2"/></scenario>',
        "which are not all there",
    ),
    "a rate": (
        "a.xml",
        CORE.replace('bandwidth="10000000"', 'bandwidth="much"'),
        "bandwidth: 'much'; expected a number",
    ),
    "an alias": ("a.yml", "a: &a [x]\nb: [*a, *a]\n", "a.yml:2: has an alias"),
    "deep YAML": ("a.yml", "[" * DEEP, "nested too deeply"),
    "no YAML": ("a.yml", "a: [", "expected YAML"),
    "a tag": ("a.yml", "a: !!python/object/apply:os.system [ls]\n", "expected YAML"),
    "no topology": ("a.yml", "name: x\n", "topology: 'None'; expected an object"),
    "three ends": (
        "a.yml",
        "topology:\n  nodes: {a: {}}\n  links: [{endpoints: [a, a, a]}]\n",
        "has 3 ends; expected 2",
    ),
    "a stranger": (
        "a.yml",
        "topology:\n  nodes: {a: {}}\n  links: [{endpoints: ['a:1', 'b:1']}]\n",
        "'b' is no node of the file",
    ),
    "a delay": (
        "a.mn",
        {**WIRES, "links": [{"src": "1", "dest": "2", "opts": {"delay": "soon"}}]},
        "'soon'; expected a time such as 5ms",
    ),
    "a host": ("a.mn", {**WIRES, "links": [{"src": "1", "dest": "9"}]}, "'9' is no host"),
    "a program": ("a.py", "import mininet", "'hoplab mininet "),
    "an ending": ("a.dot", "graph {}", "has no known ending; say --as"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_network_is_a_line(case: str, tmp_path: Path) -> None:
    name, content, line = HOSTILE[case]
    file = written(tmp_path / name, content)
    with pytest.raises(ScenarioError) as caught:
        imported(file)
    assert line in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300 + len(str(tmp_path))


def test_what_is_no_file_is_a_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "large.json").write_bytes(b" " * (16 << 20) + b"{}")
    for name, line in (
        ("pipe.json", "no regular file"),
        ("large.json", "is larger than 16 MiB"),
        ("none.json", "No such file"),
    ):
        with pytest.raises(ScenarioError, match=line):
            formats.read(tmp_path / name, None)


def test_names_of_a_file_reach_no_terminal_and_no_toml(tmp_path: Path) -> None:
    """A comment's line stays one line, whatever a node is called."""
    nodes = [
        {"node_id": key, "hostname": f'\x1b[2J\n[radio]\nprofile = "x"{key}\u2028' * 9}
        for key in "ab"
    ]
    links = [{"type": "wifi", "source": "a", "target": "b", "source_tq": 1, "target_tq": 1}]
    file = written(tmp_path / "a.json", {"nodes": nodes, "links": links})
    scenario, _ = imported(file)
    text = file.with_suffix(".toml").read_text()
    assert "\x1b" not in text and scenario.radio.profile == "80211g"


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    (
        *("nodes", "links", "node_id", "location", "latitude", "source", "target", "type"),
        *("source_tq", "hosts", "switches", "opts", "hostname", "src", "dest", "x", "bw", "delay"),
    )
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=30,
)


@pytest.mark.parametrize("named", ["meshviewer", "mininet"])
@given(value=VALUES)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_json_is_a_network_or_a_line(
    named: str, value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(json.dumps(value))
    try:
        found = formats.read(file, named)
        parse(found.document("static"), "any")
    except ScenarioError as error:
        assert "\n" not in str(error)
