# SPDX-License-Identifier: Apache-2.0
"""A resolved scenario has every value, within the limits of what a user may write."""

import re
import typing
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from hoplab.model.keys import resolved as types
from hoplab.model.keys.radio import Radio
from hoplab.model.keys.resolved import Resolved, ResolvedMedium, ResolvedRadio
from hoplab.model.resolve.resolve import radio_with_profile
from hoplab.model.resources import PACKAGE
from tests import scenarios

EVERY_FLOW = scenarios.ONE_HOP + "".join(
    f'[[flow]]\nsource = "n0"\ndestination = "n1"\nprotocol = "{protocol}"\n'
    for protocol in ("udp", "ping", "rr")
)
NARROWED = [
    table
    for table in vars(types).values()
    if isinstance(table, type)
    and issubclass(table, BaseModel)
    and table.__module__ == types.__name__
]
A_DEFAULT = re.compile(r"\b(radio|flow|cell|backbone|program)\.\w+ or [\d\"'A-Z]")


def test_every_flow_has_what_its_protocol_needs() -> None:
    tcp, udp, ping, requests = scenarios.resolved(EVERY_FLOW).flow
    assert isinstance(tcp, types.TcpFlow) and (tcp.congestion_control, tcp.mss) == ("cubic", 1460)
    assert isinstance(udp, types.UdpFlow) and (udp.packet_bytes, udp.generator) == (512, "hoplab")
    assert isinstance(ping, types.PingFlow) and (ping.packet_bytes, ping.interval_s) == (56, 1)
    assert isinstance(requests, types.RequestFlow) and requests.think.mean == 0


def test_what_a_run_has_is_read_back_the_same() -> None:
    found = scenarios.resolved(EVERY_FLOW)
    assert Resolved.model_validate(scenarios.of_a_run(EVERY_FLOW)) == found


@pytest.mark.parametrize("name", sorted(radio_with_profile(Radio()).model_fields_set))
def test_no_value_of_a_radio_may_be_missing(name: str) -> None:
    document = scenarios.of_a_run()
    del document["radio"][name]
    if ResolvedRadio.model_fields[name].is_required():
        with pytest.raises(ValidationError, match=name):
            Resolved.model_validate(document)
    else:
        Resolved.model_validate(document)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("radio", "cw_min", -1),
        ("radio", "channel", 1000),
        ("radio", "width_mhz", 30),
        ("radio", "slot_us", float("nan")),
        ("flow", "mss", 3),
        ("flow", "name", "../out"),
    ],
)
def test_the_limits_of_what_is_written_hold(table: str, key: str, value: Any) -> None:
    """A stranger may have written a run's `scenario.json`."""
    document = scenarios.of_a_run()
    entry = document[table] if table == "radio" else document[table][0]
    entry[key] = value
    with pytest.raises(ValidationError):
        Resolved.model_validate(document)


@pytest.mark.parametrize("table", NARROWED)
def test_a_narrowed_key_is_not_none(table: type[BaseModel]) -> None:
    # A flow may be whole, and a run no branch.
    own = {types.TcpFlow: {"split"}, Resolved: {"branch"}}
    for name in table.__annotations__.keys() - own.get(table, set()):
        if name in table.model_fields:
            assert type(None) not in typing.get_args(table.model_fields[name].annotation), name


def test_nobody_repeats_a_default_after_the_resolution() -> None:
    for folder in ("guest", "host", "show", "model/network", "model/checks"):
        for path in (PACKAGE / folder).rglob("*.py"):
            for line in path.read_text(encoding="utf-8").splitlines():
                assert not A_DEFAULT.search(line), f"{path}: {line.strip()}"


def test_a_medium_of_its_own_is_resolved_too() -> None:
    assert ResolvedMedium.model_fields["radio"].annotation is ResolvedRadio
