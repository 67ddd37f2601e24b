# SPDX-License-Identifier: Apache-2.0
"""IPv6 is off unless a scenario uses it, and what knows IPv4 alone refuses it in one line."""

from typing import Any

import pytest

from hoplab.guest.lab.session import _hex
from hoplab.model.errors import ScenarioError
from hoplab.model.network.plan import Plan, plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

ENDS = {"source": "n0", "destination": "n1"}
CHAIN = {"duration_s": 10, "topology": {"kind": "chain", "stations": 3}}


def planned(*flows: dict[str, Any], **more: Any) -> Plan:
    document = {**CHAIN, "flow": [{**ENDS, **flow} for flow in flows], **more}
    return plan(resolve(parse(document, "test")))


def test_stations_have_addresses_of_ipv6_where_a_flow_has() -> None:
    assert planned({}).address_6 == {}
    both = planned({}, {"ip": 6})
    assert both.address_6 == {"n0": "2001:db8::1", "n1": "2001:db8::2", "n2": "2001:db8::3"}
    four, six = both.conversations
    assert (four.source_address, four.flow.mss) == ("10.0.0.1", 1460)
    # The header is 20 octets longer.
    assert (six.destination_address, six.flow.mss) == ("2001:db8::2", 1440)
    assert both.host_names["n2"] == "10.0.0.3" and both.host_names["n2.ip6"] == "2001:db8::3"
    assert planned({}, network={"ipv6": True}).address_6 == both.address_6


@pytest.mark.parametrize(
    ("flow", "more", "words"),
    [
        ({}, {"routing": {"protocol": "dsr"}}, ["flow.0.ip: 6", "DSR (RFC 4728)"]),
        ({}, {"routing": {"protocol": "batmand"}}, ["flow.0.ip: 6", "batmand"]),
        ({}, {"tcp": {"elfn": True}}, ["flow.0.ip: 6", "ELFN", "elfn = false"]),
        ({"elfn": True}, {}, ["flow.0.ip: 6", "ELFN"]),
        (
            {"destination": "n2", "split": {"every_hops": 1}},
            {},
            ["flow.0.ip: 6", "Split-TCP", "split = false"],
        ),
        (
            {},
            {"tcp": {"profile": "classic"}, "measure": {"packets": True}},
            ["flow.0.ip: 6", "measure.packets", "classic"],
        ),
        (
            {"protocol": "udp", "rate_kbps": 10.0, "packet_bytes": 3000},
            {},
            ["flow.0.packet_bytes: 3000", "fragments"],
        ),
        ({"mss": 2230}, {}, ["flow.0.mss: 2230", "at most"]),
        (
            {},
            {
                "link": [{"ends": ["n0", "n1"]}],
                "loss": [{"src": "n0", "dst": "n1", "rate": 0.1}],
            },
            ["flow.0.ip: 6", "loss.0", "wired"],
        ),
    ],
)
def test_what_knows_ipv4_alone_refuses_the_other(
    flow: dict[str, Any], more: dict[str, Any], words: list[str]
) -> None:
    planned(flow | {"ip": 4}, **more) if "mss" not in flow else None
    with pytest.raises(ScenarioError) as error:
        planned({"ip": 6, **flow}, **more)
    assert len(str(error.value).splitlines()) == 1
    for word in words:
        assert word in str(error.value)


def test_a_flow_of_ipv4_may_be_beside_it() -> None:
    """With ELFN, too, where only it has that."""
    whole = planned({"elfn": True}, {"ip": 6})
    assert [c.elfn is not None for c in whole.conversations] == [True, False]


def test_programs_may_have_what_dsr_refuses() -> None:
    with pytest.raises(ScenarioError, match=r"^network\.ipv6: true, but DSR"):
        planned({}, network={"ipv6": True}, routing={"protocol": "dsr"})


def test_addresses_as_the_kernel_lists_sockets() -> None:
    assert _hex("10.0.0.1") == "0100000A"
    assert _hex("2001:db8::1") == "B80D0120000000000000000001000000"
