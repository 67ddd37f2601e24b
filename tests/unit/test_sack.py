# SPDX-License-Identifier: Apache-2.0
"""SACK is a flow's: what the kernel's switch does, what a filter does, what names say."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyroute2.netlink.exceptions import NetlinkError

from hoplab.guest.network import filters
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.tcp import sack as module
from hoplab.guest.tcp.sack import SYSCTL, Sack
from hoplab.host.results import flows
from hoplab.many.sweep import points as sweeps
from hoplab.model.errors import MissingTool
from hoplab.model.keys import variants
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import Conversation, Plan, plan
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT
from tests.emulation.test_examples import EXAMPLES, FOUND


def planned(*ends: tuple[str, str, dict[str, Any]], **tables: Any) -> Plan:
    """Flows from, to, with keys, in a chain of four stations."""
    flow = [{"source": a, "destination": b, **keys} for a, b, keys in ends]
    chain = {"kind": "chain", "stations": 4}
    document = {"duration_s": 10, "topology": chain, "flow": flow, **tables}
    return plan(resolve(Scenario.model_validate(document)))


def by(name: str) -> dict[str, Any]:
    return {"congestion_control": name}


NEWRENO, CUBIC = by("newreno"), by("cubic")
WAITING = {"protocol": "rr"}


@pytest.mark.parametrize(
    ("ends", "tables", "off", "filtered"),
    [
        ([("n0", "n3", NEWRENO)], {}, ["n0"], []),
        ([("n0", "n3", NEWRENO), ("n1", "n2", CUBIC)], {}, ["n0"], []),
        ([("n0", "n3", NEWRENO), ("n0", "n2", by("tahoe"))], {}, ["n0"], []),
        # A server that sends to two clients by two variants.
        ([("n0", "n3", NEWRENO), ("n0", "n2", CUBIC)], {}, [], ["flow0"]),
        # SACK needs both ends, so a flow towards the station counts too.
        ([("n0", "n3", NEWRENO), ("n2", "n0", CUBIC)], {}, [], ["flow0"]),
        ([("n0", "n3", NEWRENO), ("n3", "n0", WAITING)], {}, [], ["flow0"]),
        # A program's connections are of Linux, whatever flows are beside it.
        (
            [("n0", "n3", NEWRENO)],
            {"program": [{"station": "n0", "run": "sleep 1"}]},
            [],
            ["flow0"],
        ),
        ([("n0", "n3", {**CUBIC, "sack": False})], {}, ["n0"], []),
    ],
)
def test_the_switch_serves_where_all_agree_and_a_filter_elsewhere(
    ends: list[tuple[str, str, dict[str, Any]]],
    tables: dict[str, Any],
    off: list[str],
    filtered: list[str],
) -> None:
    work = planned(*ends, **tables)
    found = Sack(work)
    assert [name for name in work.address if not found.permitted(name)] == off
    assert [conversation.name for conversation in found.filtered] == filtered


class Switched(Namespaces):
    """Keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote: list[tuple[str, dict[str, str]]] = []

    def sysctl(self, name: str, values: dict[str, str]) -> list[str]:
        self.wrote.append((name, values))
        return []


def test_a_later_flow_with_sack_turns_the_switch_and_the_others_get_filters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = planned(("n0", "n3", NEWRENO), ("n0", "n2", CUBIC), ("n0", "n1", NEWRENO))
    first, later, last = work.conversations
    alone = planned(("n0", "n3", NEWRENO))
    made: list[str] = []

    def keep(self: Sack, conversation: Conversation, later: object) -> None:
        made.append(conversation.name)

    monkeypatch.setattr(module.Sack, "_filter", keep)
    found, kernel = Sack(alone), Switched()
    found.join(later, kernel, lambda undo: None)
    assert (kernel.wrote, made) == ([("n0", {SYSCTL: "1"})], [first.name])
    found.join(last, kernel, lambda undo: None)
    assert made == [first.name, last.name] and found.permitted("n0")


def test_a_kernel_that_cannot_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def refuses(station: str, table: str, family: int) -> Iterator[None]:
        raise NetlinkError(errno.EOPNOTSUPP)
        yield

    monkeypatch.setattr(filters, "rules", refuses)
    work = planned(("n0", "n3", NEWRENO), ("n0", "n2", CUBIC))
    with pytest.raises(MissingTool, match=r"flow flow0: sack: false beside .* needs nftables"):
        Sack(work).install(lambda undo: None)


def test_every_name_says_what_it_is() -> None:
    kernel = {name: variants.VARIANTS[name].congestion_control for name in variants.VARIANTS}
    assert kernel["linux-reno"] == kernel["newreno"] == "reno"
    assert kernel["classic-reno"] == "reno_classic"
    for paper, own in variants.PAPERS.items():
        named, meant = variants.variant(paper), variants.variant(own)
        assert named is not None and meant is not None
        assert named.congestion_control == meant.congestion_control
        assert variants.uses_sack(paper) == variants.uses_sack(own)
        told = variants.confusion(paper, "linux")
        assert told is not None and f'"{own}"' in told
        # In a scenario of the papers' time the papers' names are right.
        assert variants.confusion(paper, "classic") is None
    assert not set(variants.OFFERED) & set(variants.PAPERS)
    assert all(variants.confusion(name, "linux") is None for name in variants.OFFERED)
    # All of Linux's own are equal in SACK.
    linux = ("linux-reno", *variants.OF_THE_KERNEL, None)
    assert all(variants.uses_sack(name) for name in linux)


def test_linux_reno_takes_either() -> None:
    keys = by("linux-reno")
    work = planned(("n0", "n3", keys), ("n0", "n2", {**keys, "sack": False}))
    assert [c.flow.sack for c in work.conversations] == [True, False]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([("cubic", 1), ("newreno", 0)], ("cubic with it", "newreno without", '"linux-reno"')),
        ([("cubic", 1), ("bbr", 1), ("tahoe", 0)], ("cubic, bbr with it", "set sack alike")),
        ([("cubic", 1), ("reno", 0)], ('use "linux-reno" instead of "reno"',)),
        ([("cubic", 1), ("linux-reno", 1)], None),
        # A user who compares SACK itself knows.
        ([("linux-reno", 1), ("linux-reno", 0)], None),
        ([("cubic", 1), ("newreno", None), (None, 0), ("window", 0)], None),
        ([], None),
    ],
)
def test_variants_that_differ_in_sack_are_told(
    seen: list[tuple[str | None, int | None]], words: tuple[str, ...] | None
) -> None:
    told = variants.difference(seen)
    assert (told is None) == (words is None)
    assert all(word in str(told) for word in words or ())


def test_a_connection_is_noted_once_its_syn_is_acknowledged(tmp_path: Path) -> None:
    from hoplab.guest.probes.options import SackNotes
    from hoplab.guest.probes.sockets import Info

    notes = SackNotes(tmp_path)
    told = Info(*[0] * (len(Info._fields) - 2))
    notes.note("flow0", told)
    assert not list(tmp_path.iterdir())
    for options in (7, 0):
        notes.note("flow0", told._replace(bytes_acked=1, options=options))
    (line,) = (tmp_path / "sack.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"flow": "flow0", "sack": True}


def test_the_column_has_what_sockets_said(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    lines = [
        '{"flow": "flow0", "sack": true}',
        "[]",
        '{"flow": 1}',
        "none",
        '{"flow":"b","sack":0}',
    ]
    (tmp_path / "raw" / "sack.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert flows._sack(tmp_path) == {"flow0": 1, "b": 0}


def _compared(scenario: Scenario) -> list[tuple[str | None, int | None]]:
    flows = [flow for flow in scenario.flow if flow.protocol == "tcp" and not flow.split]
    return [(flow.congestion_control, flow.sack) for flow in flows]


@pytest.mark.parametrize("name", FOUND)
def test_an_example_compares_like_with_like(name: str) -> None:
    """Flows of a run, and a flow with what its page changes. A split flow's variant is a window."""
    flows = []
    for changes in ({}, FOUND[name].changed):
        document = file.read(EXAMPLES / f"{name}.toml")
        for path, value in changes.items():
            file.assign(document, path, value, name)
        flows += _compared(resolve(file.parse(document, name), EXAMPLES))
    assert variants.difference(flows) is None


def test_the_sweeps_of_pages_compare_like_with_like(tmp_path: Path) -> None:
    text = (PROJECT / "docs/howto/paper.md").read_text(encoding="utf-8")
    block = re.search(r'```toml title="speeds.toml"\n(.*?)```', text, re.DOTALL)
    assert block is not None
    (tmp_path / "speeds.toml").write_text(block[1], encoding="utf-8")
    topology = 'topology = { kind = "random-waypoint", stations = 2 }\n'
    (tmp_path / "paper.toml").write_text(
        topology + '[[flow]]\nsource = "n0"\ndestination = "n1"\n[routing]\nprotocol = "dsr"\n'
    )
    for place in (tmp_path / "speeds.toml", PROJECT / "experiments/chain-variants/sweep.toml"):
        points = sweeps.read(place).points()
        flows = [flow for point in points for flow in _compared(point.scenario())]
        assert len({name for name, _ in flows}) > 1
        assert variants.difference(flows) is None
