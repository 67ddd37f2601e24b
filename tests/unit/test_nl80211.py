# SPDX-License-Identifier: Apache-2.0
"""What the lab says to the kernel's Wi-Fi and interfaces, beside what pyroute2 would say."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from pyroute2.netlink.nl80211 import IFTYPE_NAMES, NL80211_NAMES, nl80211cmd
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

from hoplab.guest.network import links, netlink
from hoplab.guest.network.generic import Generic
from hoplab.guest.network.links import Links
from hoplab.guest.network.netlink import ACK, DUMP, ERROR, GENERIC, HEADER, Refused, u32
from hoplab.guest.network.nl80211 import Attr, Command, Kind, Wireless

NEWER = {Command.RELOAD_REGDB}
"""What pyroute2 has no name for."""


def test_the_numbers_are_the_kernels() -> None:
    numbers = {name: number for number, (name, _) in enumerate(nl80211cmd.nla_map)}
    assert {a: a.value for a in Attr} == {a: numbers[f"NL80211_ATTR_{a.name}"] for a in Attr}
    known = [command for command in Command if command not in NEWER]
    assert known == [NL80211_NAMES[f"NL80211_CMD_{command.name}"] for command in known]
    assert [kind.value for kind in Kind] == [IFTYPE_NAMES[kind.name.lower()] for kind in Kind]


class Kernel:
    """Answers every request of netlink as a test says, and keeps the requests."""

    def __init__(self, *answers: bytes) -> None:
        self.requests: list[bytes] = []
        self._answers = list(answers)

    def send(self, request: bytes) -> None:
        self.requests.append(request)

    def recv(self, most: int) -> bytes:
        return self._answers.pop(0)


def _message(kind: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, 0, 0, 0) + body


DONE = _message(ERROR, bytes(4))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """A kernel that does whatever it is asked."""
    kernel = Kernel(*[DONE] * 9)
    none = dict.fromkeys(("AF_NETLINK", "SOCK_RAW", "SOCK_CLOEXEC"), 0)
    sockets = SimpleNamespace(socket=lambda *about: kernel, **none)
    monkeypatch.setattr(netlink, "socket", sockets)

    @contextmanager
    def inside(name: str) -> Iterator[None]:
        yield

    monkeypatch.setattr(netlink, "inside", inside)
    yield kernel


def test_an_interface_is_changed_as_pyroute2_would(heard: Kernel) -> None:
    Links("n0").set(7, up=True, name="wlan0", mtu=2304)
    message = ifinfmsg()
    message["index"], message["flags"], message["change"] = 7, 1, 1
    message["attrs"] = [["IFLA_IFNAME", "wlan0"], ["IFLA_MTU", 2304]]
    message.encode()
    (request,) = heard.requests
    assert request[HEADER.size :] == bytes(message.data)[HEADER.size :]
    assert HEADER.unpack_from(request)[1] == links.RTM_NEWLINK
    assert HEADER.unpack_from(request)[2] == netlink.REQUEST | ACK


def test_what_is_not_given_stays(heard: Kernel) -> None:
    Links("n0").set(7, up=False)
    (request,) = heard.requests
    assert request[HEADER.size :] == links.INTERFACE.pack(socket.AF_UNSPEC, 0, 7, 0, 1)


def test_an_address_is_added_as_pyroute2_would(heard: Kernel) -> None:
    Links("n0").add_address(7, "10.0.0.1", 24, "10.0.0.255")
    message = ifaddrmsg()
    message["family"], message["prefixlen"], message["index"] = socket.AF_INET, 24, 7
    message["attrs"] = [
        ["IFA_LOCAL", "10.0.0.1"],
        ["IFA_ADDRESS", "10.0.0.1"],
        ["IFA_BROADCAST", "10.0.0.255"],
    ]
    message.encode()
    (request,) = heard.requests
    assert request[HEADER.size :] == bytes(message.data)[HEADER.size :]


def _radio(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> Wireless:
    monkeypatch.setattr("hoplab.guest.network.generic.number_of", lambda family: 30)
    over = Generic.__new__(Generic)
    over._socket, over._what = kernel, "radio of n0"  # type: ignore[assignment]
    return Wireless(over)


def test_a_radio_is_asked_as_pyroute2_would(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(DONE)
    given = {
        Attr.IFINDEX: u32(7),
        Attr.SSID: b"hoplab",
        Attr.FREQ_FIXED: b"",
        Attr.MAC: bytes.fromhex("02ffffffff01"),
        Attr.WIPHY_RETRY_SHORT: bytes([7]),
    }
    _radio(monkeypatch, kernel).request(Command.JOIN_IBSS, given)
    message = nl80211cmd()
    message["cmd"] = NL80211_NAMES["NL80211_CMD_JOIN_IBSS"]
    message["attrs"] = [
        ("NL80211_ATTR_IFINDEX", 7),
        ("NL80211_ATTR_SSID", "hoplab"),
        ("NL80211_ATTR_FREQ_FIXED", b""),
        ("NL80211_ATTR_MAC", "02:ff:ff:ff:ff:01"),
        ("NL80211_ATTR_WIPHY_RETRY_SHORT", 7),
    ]
    message.encode()
    (request,) = kernel.requests
    assert request[HEADER.size :] == bytes(message.data)[HEADER.size :]


def test_of_many_interfaces_it_finds_that_of_its_wiphy(monkeypatch: pytest.MonkeyPatch) -> None:
    def interface(wiphy: int, index: int, name: bytes | None) -> bytes:
        about = [(Attr.WIPHY, u32(wiphy)), (Attr.IFINDEX, u32(index))]
        about += [] if name is None else [(Attr.IFNAME, name)]
        body = GENERIC.pack(7, 1, 0)
        return _message(30, body + b"".join(netlink.attribute(*each) for each in about))

    several = interface(1, 5, b"wlan1\0") + interface(2, 6, None) + interface(2, 8, b"wlan2\0")
    kernel = Kernel(several, _message(netlink.DONE, bytes(4)), DONE)
    radio = _radio(monkeypatch, kernel)
    assert radio.interface_of(2) == 8
    assert HEADER.unpack_from(kernel.requests[0])[2] & DUMP
    radio.set_kind(8, Kind.ADHOC)  # no answer to the first request is left for this one


def test_a_refusal_names_the_station(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(_message(ERROR, struct.pack("=i", -16)))
    with pytest.raises(Refused, match="radio of n0: the kernel refuses: Device or resource busy"):
        _radio(monkeypatch, kernel).request(Command.SET_WIPHY, {})
