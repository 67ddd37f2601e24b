# SPDX-License-Identifier: Apache-2.0
"""Programs of a scenario: what is refused, their files, what their packets come to."""

import json
import os
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.system.processes import LONGEST_LINE, last_line
from hoplab.guest.traffic import programs
from hoplab.guest.traffic.outputs import MOST_AT_ONCE, PIECE, Output
from hoplab.host.results import arrow, connection_packets, connections, rings
from hoplab.host.results.connections import Connection
from hoplab.host.results.round_trips import RoundTrips
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.contents import octets_of
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

FIN, SYN, ACK = 1, 2, 16
NEAR, FAR = 40_000, 80


def scenario(folder: Path = Path(), **program: Any) -> Scenario:
    """Resolved, of one program."""
    document = {
        "duration_s": 10,
        "topology": {"kind": "chain", "stations": 3},
        "program": [{"station": "n0", "run": "true", **program}],
    }
    return resolve(parse(document, "test"), folder)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"run": ""}, "program.0.run: '' "),
        ({"run": "echo 'open"}, 'program.0.run: "echo \'open" is no command line'),
        ({"run": "  "}, "is no command line; give a program"),
        ({"station": "n9"}, "program.0.station: no station 'n9'; there are: n0, n1, n2"),
        ({"start_s": 10}, "program.0.start_s: 10 is not before duration_s 10"),
        ({"start_s": 3, "stop_s": 2}, "program.0: stop_s 2 is not after start_s 3"),
        ({"ready": {}}, "program.0.ready: give one of port, log and after_s; here 0 are given"),
        ({"ready": {"port": 80, "after_s": 1}}, "here 2 are given"),
        ({"ready": {"log": "("}}, "program.0.ready.log: '(' is no regular expression"),
        ({"ready": {"port": 80}, "start_s": 1}, "ready is what time 0 waits for"),
        ({"file": {"../up": ""}}, "program.0.file.../up"),
        ({"file": {"/etc/passwd": ""}}, "program.0.file./etc/passwd"),
        ({"file": {"a/../b": ""}}, "program.0.file.a/../b"),
        (
            {"file": {"a": "", "a/b/c": ""}},
            "program.0: file: 'a' is a file, and 'a/b/c' needs a folder of that name; rename one",
        ),
        ({"file": {"x" + "é" * 150: ""}}, "has 301 octets, and a name has at most 255; shorten"),
        ({"file": {"a": "base64:*"}}, "program program0: file a: is not base64"),
        ({"files": "../other"}, "program.0.files"),
        ({"files": "missing"}, "program program0: files: missing: is no folder"),
        ({"env": {"A=B": "1"}}, "program.0.env.A=B"),
        ({"expects": 0}, "program.0.expects: unknown key (did you mean 'expect'?)"),
        ({"signal": "STOP"}, "program.0.signal: 'STOP' is not allowed"),
    ],
)
def test_what_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as told:
        scenario(**keys)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_names_are_given_once() -> None:
    document = {
        "topology": {"kind": "chain", "stations": 2},
        "flow": [{"name": "web", "source": "n0", "destination": "n1"}],
        "program": [{"name": "web", "station": "n0", "run": "true"}],
    }
    with pytest.raises(ScenarioError, match=r"program.0.name: 'web' is given twice"):
        resolve(parse(document, "test"))


def test_a_resolved_scenario_holds_the_files(tmp_path: Path) -> None:
    octets = {"text": "grün\n".encode(), "octets": bytes(range(256)), "odd": b"base64:x"}
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    for name, content in octets.items():
        (tmp_path / "mine" / "deep" / name).write_bytes(content)
    # What is hidden, and what leads elsewhere, stays.
    (tmp_path / "mine" / ".secret").write_text("secret")
    (tmp_path / "mine" / "link").symlink_to("/etc/passwd")
    found = scenario(tmp_path, files="mine", file={"own": "inline"})
    files = {name: octets_of(text) for name, text in found.program[0].file.items()}
    assert files == {
        **{f"deep/{name}": content for name, content in octets.items()},
        "own": b"inline",
    }
    assert found.program[0].files is None
    # It is a scenario again, and resolves to itself, wherever that is.
    again = Resolved.model_validate_json(found.model_dump_json(exclude_none=True))
    assert resolve(again) == again == found


def test_a_file_and_a_folder_of_one_name_are_refused(tmp_path: Path) -> None:
    """Also where a folder of files brings one of them."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").write_text("")
    with pytest.raises(ScenarioError, match=r"^program program0: files: .*'a' is a file, and"):
        scenario(tmp_path, files="mine", file={"a/b": ""})


def test_the_last_line_of_a_long_output_is_read_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first\n" + b"x" * (1 << 20))
    said = last_line(log)
    assert said == "x" * LONGEST_LINE + "…"
    log.write_bytes(b"x" * (1 << 20) + b"\nlast\n\n")
    assert last_line(log) == "last"
    log.write_bytes(b"\n")
    assert last_line(log) == last_line(tmp_path / "none") == "it said nothing"


def test_an_output_is_searched_as_it_grows(tmp_path: Path) -> None:
    """A match may come in parts, but only a line's beginning is one."""
    log = tmp_path / "log"
    log.touch()
    late, begun, first = (Output(log, text) for text in ("on port [0-9]+$", "^listening", r"\Aab"))
    parts = (b"ab\nnot listening", b"\nlisten", b"ing o", b"n po", b"rt 80", b"\n")
    found = []
    for part in parts:
        with log.open("ab") as file:
            file.write(part)
        found.append((late.look(), begun.look(), first.look()))
    assert found == [
        (False, False, True),
        (False, False, True),
        (False, True, True),
        (False, True, True),
        (True, True, True),
        (True, True, True),
    ]


def test_many_files_are_kept_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten thousand took a minute without a word. Links and pipes are left out."""
    (program,) = scenario().program
    task = programs.made(program, tmp_path / "work", tmp_path / "out")
    (task.folder / "deep" / "er").mkdir(parents=True)
    for i in range(programs.MANY_FILES):
        (task.folder / "deep" / f"{i:03}").write_text(str(i))
    (task.folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(task.folder / "pipe")
    programs.keep(task, tmp_path / "few")
    assert not capsys.readouterr().out
    (task.folder / "deep" / "er" / "last").write_bytes(bytes(3 << 20))
    programs.keep(task, tmp_path / "out")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    of = programs.MANY_FILES + 1
    what = "keeps files of program program0"
    assert lines == [{"part": what, "done": done, "of": of} for done in (0, of - 1, of)]
    kept = tmp_path / "out" / "programs" / "program0"
    assert sum(path.is_file() for path in kept.rglob("*")) == of
    assert (kept / "deep" / "007").read_text() == "7"
    assert (kept / "deep" / "er" / "last").read_bytes() == bytes(3 << 20)
    assert {path.name for path in kept.iterdir()} == {"deep"}


def test_a_search_does_not_take_the_square_of_an_output(tmp_path: Path) -> None:
    """Each octet is looked at twice, in pieces, and only the last mebibyte of what is new."""
    log = tmp_path / "log"
    log.write_bytes(b"early" + b"a" * (2 << 20))
    output = Output(log, "early|a.*b")
    texts: list[int] = []

    class Expression:
        def search(self, text: bytes, begin: int) -> None:
            texts.append(len(text) - begin)

    output._expression = Expression()  # type: ignore[assignment]
    assert not output.look() and not output.look()
    assert max(texts) == 2 * PIECE and sum(texts) < 2 * MOST_AT_ONCE


def test_a_file_of_too_many_octets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with (tmp_path / "mine" / "large").open("wb") as file:
        file.truncate((8 << 20) + 1)
    with pytest.raises(ScenarioError, match=r"mine/large: cannot be read: is larger than 8 MiB"):
        scenario(tmp_path, files="mine")


def packet(ports: tuple[int, int], sequence: int, ack: int, flags: int, payload: int) -> bytes:
    """Headers of IPv4 and TCP, as a ring keeps them."""
    addresses = socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.0.2")
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + payload, 1, 0, 64, 6, 0) + addresses
    numbers = sequence % 2**32, ack % 2**32
    return ip + struct.pack("!HHIIBBHHH", *ports, *numbers, 5 << 4, flags, 1000, 0, 0)


@pytest.mark.parametrize("begin", [1000, 2**32 - 150])  # and where numbers wrap
def test_a_connections_octets_are_counted_once_each(begin: int) -> None:
    connection = Connection(("tcp", NEAR, "10.0.0.2", FAR), 1.0)
    out, back = (NEAR, FAR), (FAR, NEAR)

    def came(t_s: float, place: int, payload: int, flags: int = ACK) -> None:
        connection.add(t_s, False, packet(back, begin + 1 + place, 11, flags, payload), 20)

    connection.add(1.0, True, packet(out, 5, 0, SYN, 0), 20)
    connection.add(1.1, False, packet(back, begin, 6, SYN | ACK, 0), 20)
    connection.add(1.2, True, packet(out, 6, begin + 1, ACK, 5), 20)
    assert connection.first_octet_s is None
    came(1.3, 0, 100)
    came(1.5, 200, 100)  # after a gap
    came(1.6, 200, 100)  # again
    assert (connection.received_bytes, connection.end_s) == (100, 1.5)
    came(1.7, 100, 100)  # which fills it
    came(1.8, 300, 50, FIN | ACK)
    came(1.9, 0, 100)
    connection.add(2.0, True, packet(out, 11, begin + 352, FIN | ACK, 0), 20)
    connection.add(2.1, False, packet(back, begin + 352, 12, ACK, 0), 20)
    assert (connection.received_bytes, connection.sent_bytes) == (350, 5)
    assert (connection.first_octet_s, connection.end_s) == (1.3, 1.8)
    assert (connection.received_packets, connection.sent_packets) == (6, 1)
    # The same ports again are another connection; the same SYN again is not.
    assert not connection.is_new(True, packet(out, 5, 0, SYN, 0), 20)
    assert connection.is_new(True, packet(out, 77, 0, SYN, 0), 20)


LONG, SHORT, TURNED = b"\xc0\x00\x00\x00\x01", b"\x40", b"\x60"


@pytest.mark.parametrize(
    ("course", "found_ms"),
    [
        # The end that speaks first asks; what comes unasked is no answer.
        ([(1, True, b"?"), (1.01, False, b"!"), (1.02, False, b"!")], [10]),
        ([(1, True, b"?"), (1.5, True, b"?"), (2, False, b"!"), (3, True, b"?")], [1000]),
        ([(1, False, b"?"), (1.01, True, b"!"), (2, False, b"?")], []),
        ([], []),
        # QUIC at its client: the handshake, then each turn of the spin bit, however much goes.
        (
            [
                *[(1, True, LONG), (1.05, False, LONG), (1.06, True, LONG), (1.1, False, LONG)],
                *[(1.2, False, SHORT), (2, True, TURNED), (2.01, False, SHORT)],
                *[(2.02, True, TURNED), (2.06, False, TURNED), (2.07, True, SHORT)],
                *[(2.08, False, TURNED), (2.17, False, SHORT)],
            ],
            [50, 60, 100],
        ),
        # And at its server, which brings each turn back and waits for the next.
        (
            [
                *[(1, False, LONG), (1.01, True, LONG), (1.1, True, SHORT), (1.2, False, TURNED)],
                *[(1.21, True, TURNED), (1.25, False, TURNED), (1.31, False, SHORT)],
            ],
            [100],
        ),
        # Another version need not spin (RFC 8999).
        ([(1, True, b"\xc0\x00\x00\x00\x09"), (1.2, False, LONG[:4])], [200]),
    ],
)
def test_round_trips_of_datagrams(
    course: list[tuple[float, bool, bytes]], found_ms: list[float]
) -> None:
    trips = RoundTrips()
    for t_s, went_out, payload in course:
        trips.add(t_s, went_out, payload)
    assert trips.ms == pytest.approx(found_ms)


def ring(path: Path, *packets: tuple[int, int, bool, bytes]) -> None:
    """A ring's file of packets: nanoseconds, interface, whether it went out, octets."""
    begin = rings.ADDRESS_AT + rings.ADDRESS.size
    content = b""
    for date_ns, interface, went_out, data in packets:
        header = rings.PACKET.pack(1, len(data), len(data), begin, 0, 0, date_ns)
        direction = rings.OUTGOING if went_out else 0
        address = rings.ADDRESS.pack(17, b"\x08\x00", interface, 1, direction, 6, bytes(8))
        content += header.ljust(rings.ADDRESS_AT, b"\0") + address + data
    path.write_bytes(content)


def test_a_bridge_and_its_ports_show_a_packet_once(tmp_path: Path) -> None:
    ring(
        tmp_path / "ring",
        *[(1, 4, True, b"a"), (1, 2, True, b"a"), (2, 2, False, b"a"), (2, 4, False, b"a")],
        *[(3, 4, True, b"a"), (3, 2, True, b"a"), (4, 2, True, b"b")],
    )
    once = [(seen.date_ns, seen.data) for seen in rings.packets(tmp_path / "ring", once=True)]
    assert once == [(1, b"a"), (2, b"a"), (3, b"a"), (4, b"b")]
    assert len(list(rings.packets(tmp_path / "ring"))) == 7


def datagram(source: str, target: str, octets: int, identification: int) -> bytes:
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 28 + octets, identification, 0, 64, 17, 0)
    addresses = socket.inet_aton(source) + socket.inet_aton(target)
    return ip + addresses + struct.pack("!HHHH", 5000, 7, 8 + octets, 0) + bytes(octets)


Sent = list[tuple[int, bytes]]


def both_ends(folder: Path, sent: Sent, came: Sent) -> connection_packets.Course:
    """What programs at n0 and n2 sent and received: octets, with their times in ns."""
    document = {
        **{"duration_s": 10, "topology": {"kind": "chain", "stations": 3}},
        "program": [{"station": name, "run": "true"} for name in ("n0", "n2")],
    }
    work = plan(resolve(parse(document, "test")))
    raw = folder / "raw"
    raw.mkdir()
    others = (70, 2, False, datagram(work.address["n0"], work.address["n1"], 50, 0))
    ring(raw / "programs-n0.ring", *((ns, 2, True, data) for ns, data in sent))
    ring(raw / "programs-n2.ring", *((ns, 2, False, data) for ns, data in came), others)
    courses = connection_packets.gather(folder, work, connections.Found([ROW], {}), 0)
    assert not list(courses["program0:5000<n2:7"].packets("program0:5000<n2:7", 10))
    return courses["program0:5000>n2:7"]


ROW = {
    **{"flow": "program0", "protocol": "udp", "node": "n0", "port": 5000, "peer": "n2"},
    **{"peer_port": 7, "start_s": 0.0, "end_s": 60e-9, "first_octet_s": None},
    **{"sent_packets": 6, "sent_bytes": 450, "received_packets": 0, "received_bytes": 0},
}
ENDS = "10.0.0.1", "10.0.0.3"
FIRST, SECOND = (datagram(*ENDS, 100, number) for number in (1, 2))
EQUAL = datagram(*ENDS, 50, 0)  # as each of a socket that is not connected
NANO = 1e-9


def test_datagrams_are_known_again_at_the_other_end(tmp_path: Path) -> None:
    """The first is lost once, and one of the equal ones is lost too. Nobody knows which one, so the
    delay of those that it may be is unknown."""
    sent = [(10, FIRST), (20, SECOND), (30, EQUAL), (40, EQUAL), (50, EQUAL), (60, FIRST)]
    course = both_ends(tmp_path, sent, [(25, SECOND), (35, EQUAL), (55, EQUAL), (65, FIRST)])
    packets = list(course.packets("flow", 10))
    arrived_ns = [None, 25, 35, None, 55, 65]
    wanted = [None if ns is None else ns * NANO for ns in arrived_ns]
    assert [p.received_s for p in packets] == pytest.approx(wanted)
    assert [p.seq for p in packets] == list(range(6))
    arrivals = course.arrivals(10)
    assert [one.number for one in arrivals] == [2, 3, 5, 6]
    assert [one.delay_ms for one in arrivals] == [
        *(pytest.approx(5e-6), pytest.approx(5e-6), None, None)
    ]


def test_equal_datagrams_of_which_none_was_lost_came_in_their_order(tmp_path: Path) -> None:
    course = both_ends(
        tmp_path, [(ns, EQUAL) for ns in (10, 20, 30)], [(ns, EQUAL) for ns in (25, 35, 45)]
    )
    assert [one.number for one in course.arrivals(10)] == [1, 2, 3]
    assert [one.delay_ms for one in course.arrivals(10)] == pytest.approx([15e-6] * 3)
    assert [one.number for one in course.arrivals(40 * NANO)] == [1, 2]


def test_a_sender_by_udp_learns_from_the_other_ends_station(tmp_path: Path) -> None:
    """Goodput, losses, delays and jitter; of a peer without a program, only what it sent."""
    sent = [(10, FIRST), (20, SECOND), (30, datagram(*ENDS, 50, 3)), (40, datagram(*ENDS, 50, 4))]
    course = both_ends(tmp_path, sent, [(25, SECOND), (50, sent[2][1]), (70, sent[3][1])])
    work, alone = plan(scenario(measure=True)), connections.Found([ROW], {})
    (row,) = connections.flows(work, alone, arrow.empty("tcp"))
    assert {key: row.get(key) for key in ("sent", "received", "lost")} == {
        **{"sent": 6, "received": None, "lost": None}
    }
    assert not list(connection_packets.rows(alone, 0.1))
    found = connection_packets.known(alone, {"program0:5000>n2:7": course}, 10)
    (row,) = connections.flows(work, found, arrow.empty("tcp"))
    assert (row["sent"], row["received"], row["lost"]) == (4, 3, 1)
    assert (row["delivered_bytes"], row["stop_s"]) == (200, pytest.approx(70 * NANO))
    assert row["latency_ms_p50"] == pytest.approx(20e-6)
    assert row["jitter_ms"] == pytest.approx(12.5e-6, abs=1e-6)
    rows = list(connection_packets.rows(found, 20 * NANO))
    assert [(one["received"], one["lost"]) for one in rows] == [(0, 0), (1, 1), (2, 1), (3, 1)]


def test_a_programs_flow_has_the_first_octet_of_all_its_connections() -> None:
    def row(start_s: float, first_octet_s: float | None, protocol: str = "tcp") -> dict[str, Any]:
        counts = dict.fromkeys(("received_bytes", "received_packets"), int(bool(first_octet_s)))
        return {
            **{"flow": "program0", "protocol": protocol, "peer": "n2", "start_s": start_s},
            **{"port": 5000, "peer_port": 7},
            **{"first_octet_s": first_octet_s, "end_s": start_s + 1},
            **{**counts, "sent_bytes": 0, "sent_packets": 0},
        }

    def of(*rows: dict[str, Any]) -> dict[str, Any]:
        found = connections.Found(list(rows), {})
        (flow,) = connections.flows(plan(scenario(measure=True)), found, arrow.empty("tcp"))
        return flow

    # A name looked up by UDP is no first octet of what came by TCP.
    flow = of(row(1, 1.1, "udp"), row(2, 2.8), row(3, None), row(2.5, 2.6))
    assert (flow["start_s"], flow["first_octet_s"], flow["stop_s"]) == (1, 2.6, 4)
    assert of(row(1, 1.1, "udp"))["first_octet_s"] == 1.1
    assert of(row(3, None))["first_octet_s"] is None
    assert of()["first_octet_s"] is None


def test_what_a_machine_is_given_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("one", "bin/two"):
        (tmp_path / name).write_text(name)
    program = {"station": "n0", "run": "one"}
    document: dict[str, Any] = {"duration_s": 1, "topology": {"kind": "pair"}}

    def given(*add: str, programs: tuple[dict[str, str], ...] = (program,)) -> Scenario:
        whole = {**document, "machine": {"add": list(add)}, "program": list(programs)}
        return resolve(parse(whole, "test"), tmp_path)

    scenario = given("./one", "bin")
    assert scenario.machine.file == {"one": "one", "two": "bin/two"}
    assert scenario.machine.add == () and resolve(scenario) == scenario
    for add, words in (
        (("none",), "machine.add: .*none: cannot be read: No such file"),
        (("one", "./one"), "machine.add: ./one: there is a 'one' already"),
    ):
        with pytest.raises(ScenarioError, match=words):
            given(*add)
    with pytest.raises(ScenarioError, match="acts on nothing"):
        given("one", programs=())
