# SPDX-License-Identifier: Apache-2.0
"""Which program sends a flow, and the documents of the lab's own one."""

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.traffic import ends
from hoplab.guest.traffic.ends import Ends
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import Conversation, plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

EPOCH_NS = 7_000_000_000


def conversation(**flow: Any) -> Conversation:
    whole = {"source": "n0", "destination": "n1", **flow}
    document: dict[str, Any] = {"duration_s": 10, "topology": {"kind": "pair"}, "flow": [whole]}
    if whole.get("protocol") == "mptcp":
        document["routing"] = {"protocol": "static"}
    return plan(resolve(parse(document, "test"))).conversations[0]


def test_iperf3_sends_what_names_it() -> None:
    counted = {"packets": 5, "packet_bytes": 100}
    udp = {"protocol": "udp", "rate_kbps": 10}
    assert not conversation().is_iperf3
    assert conversation(generator="iperf3").is_iperf3
    assert not conversation(**counted).is_iperf3
    assert not conversation(**udp).is_iperf3
    assert conversation(**udp, generator="iperf3").is_iperf3
    assert not conversation(**udp, **counted).is_iperf3
    assert not conversation(protocol="ping").is_iperf3
    assert not conversation(protocol="rr").is_iperf3


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"protocol": "ping", "generator": "iperf3"}, "generator counts only where protocol is"),
        ({"packets": 5, "packet_bytes": 100, "generator": "iperf3"}, "a counted transfer is not"),
    ],
)
def test_iperf3_refuses_what_it_does_otherwise(flow: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        conversation(**flow)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ends:
    monkeypatch.setattr(ends, "program", lambda name: name)
    (tmp_path / "raw").mkdir()
    return Ends(tmp_path, EPOCH_NS, interval_s=0.1, home="kernel")


def end(command: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(command[1]).read_text(encoding="utf-8"))
    assert document["resident"]
    return dict(document["end"])


def test_a_sender_is_told_final_values(told: Ends) -> None:
    udp = {"protocol": "udp", "rate_kbps": 64}
    flow = conversation(**udp, dscp=46, packets=9, packet_bytes=160, buffer_bytes=8192)
    assert end(told.client(flow)) == {
        "udp_send": {
            "own": "10.0.0.1:20001",
            "to": "10.0.0.2:5201",
            "traffic_class": 184,
            "buffer_bytes": 8192,
            "packet_bytes": 160,
            "packets": 9,
            "rate_bps": 64_000.0,
            "spacing": "even",
            "pauses": None,
            "seed": flow.seed,
        }
    }
    bursts = {"on": {"kind": "exponential", "mean": 0.5}, "off": {"mean": 2.0}}
    sends = end(told.client(conversation(**udp, spacing="poisson", **bursts)))["udp_send"]
    assert sends["spacing"] == "poisson"
    on = {"exponential": {"mean": 0.5, "high": None}}
    assert sends["pauses"] == {"on": on, "off": {"fixed": {"mean": 2.0}}}
    assert end(told.client(conversation(protocol="udp")))["udp_send"]["rate_bps"] is None


def test_a_receiver_is_told_when_rows_are_due(told: Ends) -> None:
    flow = conversation(protocol="udp", rate_kbps=64, start_s=1.5, stop_s=4, ip=6)
    assert end(told.server(flow))["udp_receive"] == {
        "own": f"[{flow.destination_address}]:5201",
        "rows": {
            "flow": "flow0",
            "table": str(told.out / "raw" / "udp-flow0.jsonl"),
            "epoch_ns": EPOCH_NS,
        },
        "begin_ns": 8_500_000_000,
        "end_ns": 11_000_000_000,
        "interval_ns": 100_000_000,
    }


def test_a_transfer_is_told_how_much(told: Ends) -> None:
    flow = conversation(packets=9, packet_bytes=160, congestion_control="newreno", mss=1000)
    sender, receiver = end(told.client(flow))["tcp_send"], end(told.server(flow))["tcp_receive"]
    assert sender["counted"] == {"packets": 9, "packet_bytes": 160}
    assert (sender["mss"], sender["congestion_control"]) == (1000, "reno")
    report = str(told.out / "raw" / "counted-flow0.json")
    assert receiver["counted"] == {"octets": 1440, "report": report}
    flow = conversation(generator="hoplab")
    assert end(told.client(flow))["tcp_send"]["counted"] is None
    assert end(told.server(flow))["tcp_receive"]["counted"] is None


def test_ends_of_mptcp_leave_segments_to_the_kernel(told: Ends) -> None:
    flow = conversation(protocol="mptcp")
    sender, receiver = end(told.client(flow))["tcp_send"], end(told.server(flow))["tcp_receive"]
    assert (sender["multipath"], sender["mss"], receiver["multipath"]) == (True, None, True)
    sender = end(told.client(conversation(generator="hoplab")))["tcp_send"]
    assert (sender["multipath"], sender["mss"]) == (False, 1460)


def test_each_end_of_a_call_has_rows_of_the_other_ends_frames(told: Ends) -> None:
    flow = conversation(protocol="call", start_s=1, late_ms=200)
    near, far = end(told.client(flow))["call"], end(told.server(flow))["call"]
    assert (near["own"], near["to"]) == (far["to"], far["own"])
    assert (near["rows"]["flow"], far["rows"]["flow"]) == ("flow0<", "flow0")
    assert near["rows"]["table"] != far["rows"]["table"]
    assert near["seed"] != far["seed"]
    assert near["begin_ns"] == far["begin_ns"] == EPOCH_NS + 1_000_000_000
    assert (near["most_bps"], near["late_ns"]) == (2_500_000.0, 200_000_000)


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"protocol": "call", "rate_kbps": 50}, "below 100, a call's least"),
        ({"protocol": "call", "packets": 5}, "packets counts only where"),
        ({"late_ms": 5.0}, "late_ms counts only where"),
    ],
)
def test_what_a_call_cannot_be_is_refused(flow: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        conversation(**flow)


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"on": {"mean": 1.0}}, "need each other"),
        ({"on": {"mean": 0.0}, "off": {"mean": 1.0}}, "on: 0 s; a mean of at least"),
        ({"spacing": "poisson", "generator": "iperf3"}, "is not iperf3's"),
    ],
)
def test_what_pauses_cannot_be_is_refused(flow: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        conversation(protocol="udp", rate_kbps=64, **flow)


def test_both_ends_of_transactions_draw_alike(told: Ends) -> None:
    think = {"kind": "exponential", "mean": 0.5, "high": 2.0}
    flow = conversation(protocol="rr", request={"mean": 100.0}, think=think)
    asks, answers = end(told.client(flow))["request"], end(told.server(flow))["respond"]
    for name in ("seed", "request", "response"):
        assert asks[name] == answers[name]
    assert asks["request"] == {"fixed": {"mean": 100.0}}
    assert asks["think"] == {"exponential": {"mean": 0.5, "high": 2.0}}


@pytest.mark.parametrize(
    ("draw", "told_as"),
    [
        ({"kind": "uniform", "high": 9.0}, {"uniform": {"low": 0.0, "high": 9.0}}),
        (
            {"kind": "pareto", "mean": 9.0, "shape": 1.5},
            {"pareto": {"mean": 9.0, "shape": 1.5, "high": None}},
        ),
    ],
)
def test_a_draw_has_the_keys_of_its_kind(
    told: Ends, draw: dict[str, Any], told_as: dict[str, Any]
) -> None:
    flow = conversation(protocol="rr", request=draw)
    assert end(told.client(flow))["request"]["request"] == told_as


def test_a_ping_is_told_its_identifier(told: Ends) -> None:
    flow = conversation(protocol="ping", interval_s=0.5)
    assert end(told.client(flow))["ping"] == {
        "own": "10.0.0.1:20001",
        "to": "10.0.0.2:5201",
        "traffic_class": None,
        "rows": {
            "flow": "flow0",
            "table": str(told.out / "raw" / "exchanges-flow0.jsonl"),
            "epoch_ns": EPOCH_NS,
        },
        "end_ns": EPOCH_NS + 10_000_000_000,
        "identifier": 20001,
        "packet_bytes": 56,
        "packets": None,
        "interval_ns": 500_000_000,
        "timeout_ns": 10_000_000_000,
    }
