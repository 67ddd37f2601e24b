# SPDX-License-Identifier: Apache-2.0
"""Flows of rrul, and flent's file of a run with them."""

from typing import Any

import pytest

from hoplab.host.analysis import flent
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resolve.rrul import names


def resolved(**flow: Any) -> Any:
    document = {
        "duration_s": 30,
        "topology": {"kind": "pair"},
        "flow": [{"protocol": "rrul", "source": "n0", "destination": "n1", **flow}],
    }
    return resolve(parse(document, "test"))


def test_it_is_four_transfers_each_way_with_echoes_around_them() -> None:
    flows = resolved(name="t", congestion_control="bbr", start_s=2).flow
    assert {flow.name for flow in flows} == set(names("t"))
    transfers = [flow for flow in flows if flow.protocol == "tcp"]
    assert sorted((flow.source, flow.dscp or 0) for flow in transfers) == [
        *(("n0", dscp) for dscp in (0, 8, 40, 46)),
        *(("n1", dscp) for dscp in (0, 8, 40, 46)),
    ]
    assert {(f.start_s, f.stop_s, f.congestion_control) for f in transfers} == {(7, 25, "bbr")}
    echoes = [flow for flow in flows if flow.protocol == "ping"]
    assert {(f.source, f.start_s, f.stop_s) for f in echoes} == {("n0", 2, 30)}
    again = resolve(parse(resolved(name="t").model_dump(mode="json", exclude_none=True), "again"))
    assert [flow.name for flow in again.flow] == [flow.name for flow in resolved(name="t").flow]


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"start_s": 25}, "rrul lasts 5 s"),
        ({"dscp": 46}, "dscp counts only where"),
        ({"rate_kbps": 5}, "rate_kbps counts only where"),
    ],
)
def test_what_it_cannot_be_is_refused(flow: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        resolved(**flow)


class Run:
    """Stands for a run's results."""

    resolved = resolved(name="t")

    def rows(self, table: str) -> list[dict[str, Any]]:
        if table == "exchanges":
            return [
                {"flow": "t-ping-icmp", "sent_s": 0.2 * i, "rtt_ms": 10.0 + i} for i in range(150)
            ] + [{"flow": "t-ping-ef", "sent_s": 1.0, "rtt_ms": None}]
        return [
            {"flow": f"t-{way}-{mark}", "t_s": 0.1 * i, "delivered_bytes": 12_500 * i}
            for way in ("up", "down")
            for mark in ("be", "bk", "cs5", "ef")
            for i in range(50, 250)
        ]


def test_flents_file_has_its_series() -> None:
    found = flent.document(Run(), None)  # type: ignore[arg-type]
    assert found["version"] == 4
    assert len(found["x_values"]) == 151
    results = found["results"]
    assert {len(values) for values in results.values()} == {151}
    # 12,500 octets in 0.1 s, and four of these each way.
    assert results["TCP upload BE"][100] == pytest.approx(1.0)
    assert results["TCP download sum"][100] == pytest.approx(4.0)
    assert results["TCP totals"][100] == pytest.approx(8.0)
    assert results["TCP upload BE"][10] is None
    assert results["Ping (ms) ICMP"][5] == pytest.approx(15.0)
    assert results["Ping (ms) UDP EF"] == [None] * 151
    assert len(found["raw_values"]["Ping (ms) ICMP"]) == 150
    assert flent.packed(Run(), "t") == flent.packed(Run(), "t")  # type: ignore[arg-type]
