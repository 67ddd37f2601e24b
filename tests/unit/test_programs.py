# SPDX-License-Identifier: Apache-2.0
"""Programs of a scenario: what is refused, their files, what their packets come to."""

import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.results import connections
from hoplab.host.results.connections import Connection
from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.file import parse
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.plan import plan
from hoplab.model.scenario.programs import octets_of
from hoplab.model.scenario.resolve import resolve

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
    again = Scenario.model_validate_json(found.model_dump_json(exclude_none=True))
    assert resolve(again) == again == found


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


def test_a_programs_flow_has_the_first_octet_of_all_its_connections() -> None:
    def row(start_s: float, first_octet_s: float | None, protocol: str = "tcp") -> dict[str, Any]:
        counts = dict.fromkeys(("received_bytes", "received_packets"), int(bool(first_octet_s)))
        return {
            **{"flow": "program0", "protocol": protocol, "peer": "n2", "start_s": start_s},
            **{"first_octet_s": first_octet_s, "end_s": start_s + 1},
            **{**counts, "sent_bytes": 0, "sent_packets": 0},
        }

    def of(*rows: dict[str, Any]) -> dict[str, Any]:
        found = connections.Found(list(rows), {})
        (flow,) = connections.flows(plan(scenario(measure=True)), found, [])
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
