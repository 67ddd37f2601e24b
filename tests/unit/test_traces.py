# SPDX-License-Identifier: Apache-2.0
"""A run as ns-2's wireless trace: lines as ns-2 has them, of what the tables say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hoplab.front.commands.cli import app
from hoplab.host import results
from hoplab.host.analysis import ns2trace
from hoplab.host.results import arrow
from hoplab.host.results.manifest import Where
from hoplab.host.runs import beginning, collect, folder
from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

MAC = r"\[[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ [0-9a-f]+\]"
"""Duration, receiver, sender, EtherType, hexadecimal."""
NS2 = re.compile(
    r"(?P<op>[srfD]) (?P<t>\d+\.\d{9}) _(?P<node>\d+)_ (?P<level>AGT|RTR|IFQ|MAC) "
    r"(?P<why>[ A-Z-]{4}) (?P<uid>\d+) (?P<kind>\w+) (?P<size>\d+) " + MAC + " "
    r"(?:------- \[(?P<src>\d+):(?P<sport>\d+) (?P<dst>-?\d+):(?P<dport>\d+) (?P<ttl>\d+) "
    r"(?P<next>\d+)\] (?P<numbers>.*))?"
)
"""The old format (CMUTrace::format_mac_common, format_mac and format_ip of trace/cmu-trace.cc)."""
BEHIND = {
    "tcp": re.compile(r"\[\d+ \d+\] \d+ \d+"),
    "ack": re.compile(r"\[\d+ \d+\] \d+ \d+"),
    "cbr": re.compile(r"\[\d+\] \d+ \d+"),
    "DSR": re.compile(r"\d+ \[\d+ \d+\] \[\d+ \d+ \d+ -?\d+->-?\d+\] \[\d+ \d+ \d+ \d+->\d+\]"),
}
"""What stands behind the IP header (format_tcp, format_rtp, format_dsr, format_msg)."""
NOTHING = re.compile("")
OF_NS2 = """\
s 2.556838879 _0_ AGT  --- 2 tcp 1040 [0 0 0 0] ------- [0:0 2:0 32 0] [1 0] 0 0
r 2.556838879 _0_ RTR  --- 2 tcp 1040 [0 0 0 0] ------- [0:0 2:0 32 0] [1 0] 0 0
s 2.560151879 _0_ MAC  --- 0 RTS 44 [20de 1 0 0] 
D 5.000000000 _1_ RTR  CBK 26 tcp 1060 [13a 1 0 800] ------- [0:0 2:0 31 2] [9 0] 1 0
f 2.565000000 _1_ RTR  --- 2 tcp 1060 [13a 1 0 800] ------- [0:0 2:0 31 2] [1 0] 1 0
s 2.000000000 _0_ RTR  --- 1 DSR 32 [0 0 0 0] ------- [0:255 2:255 32 0] 1 [1 1] [0 1 0 0->0] [0 0 0 0->0]
"""  # noqa: E501, W291


def fields(line: str) -> dict[str, str]:
    found = NS2.fullmatch(line)
    assert found is not None, line
    told = found.groupdict()
    if told["numbers"] is not None:
        assert BEHIND.get(told["kind"], NOTHING).fullmatch(told["numbers"]), line
    return told


def test_the_pattern_is_that_of_ns2s_own_lines() -> None:
    for line in OF_NS2.splitlines():
        fields(line)


FLOWS = [
    {"source": "n0", "destination": "n2"},
    {"source": "n2", "destination": "n0", "protocol": "udp", "rate_kbps": 100},
]
KEPT = {"packets": True, "frames": True}
AGENT = {"packets": True}
SIZE = 1460


def run(where: Path, tables: dict[str, list[dict[str, Any]]], **more: Any) -> results.Results:
    """A finished run of three stations, with these rows."""
    document = {
        "station": [{"name": f"n{i}", "x_m": 200 * i} for i in range(3)],
        "routing": {"protocol": "dsr"},
        "flow": FLOWS,
        "duration_s": 10,
        "measure": KEPT,
        **more,
    }
    scenario = resolve(parse(document, "test"))
    made = folder.made(where / "run", None)
    folder.fill(made, scenario, None)
    beginning.begin(made, scenario, Where.HOST)
    (made / "raw").mkdir()
    (made / "raw" / "verdict.json").write_text(json.dumps({"status": 0, "error": None}))
    for name, rows in tables.items():
        (made / "raw" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    collect.finish(made)
    return results.load(made)


def packet(seq: int, sent: float, got: float | None, number: int, flow: str = "flow0") -> Any:
    size = SIZE if flow == "flow0" else 500
    return {
        "flow": flow,
        "seq": seq,
        "bytes": size,
        "sent_s": sent,
        "received_s": got,
        "packet_id": number,
    }


def frame(t: float, src: int, dst: int | None, **more: Any) -> dict[str, Any]:
    """A frame of the TCP flow's packet ``packet_id``, of 1 ms."""
    row = dict.fromkeys(column.name for column in TABLES["frames"].columns)
    return {
        **row,
        "t_s": t,
        "until_s": t + 0.001,
        "src": f"n{src}",
        "dst": "*" if dst is None else f"n{dst}",
        "kind": "data",
        "bytes": 1536,
        "rate_mbps": 2.0,
        "attempt": 1,
        "fate": "delivered",
        "signal_dbm": -60.0,
        "protocol": "tcp",
        "packet_src": "10.0.0.1",
        "packet_dst": "10.0.0.3",
        "ttl": 64,
        "src_port": 20_001,
        "dst_port": 5201,
        "seq": 1000,
        "ack": 5,
        "payload_bytes": SIZE,
        **more,
    }


def event(t: float, node: int, source: str, detail: str) -> dict[str, Any]:
    return {"t_s": t, "node": f"n{node}", "source": source, "kind": "drop", "detail": detail}


def lines(found: results.Results, **more: Any) -> list[str]:
    made = list(ns2trace.lines(found, **more))
    assert [t for t, _ in made] == sorted(t for t, _ in made)
    for t_s, line in made:
        assert fields(line)["t"] == f"{t_s:.9f}"
    return [line for _, line in made]


def test_a_packet_on_its_way(tmp_path: Path) -> None:
    """From its agent over a relay, tried twice on the first hop, to the agent at its end."""
    found = run(
        tmp_path,
        {
            "packets": [packet(1000, 1.0, 1.02, 7), packet(2460, 2.0, None, 8)],
            "frames": [
                frame(1.001, 0, 1, packet_id=7, fate="collided"),
                frame(1.004, 0, 1, packet_id=7, attempt=2),
                frame(1.01, 1, 2, packet_id=7, ttl=63),
            ],
        },
    )
    ends = "------- [0:20001 2:5201"
    assert lines(found) == [
        f"s 1.000000000 _0_ AGT  --- 0 tcp 1460 [0 0 0 0] {ends} 64 0] [0 0] 0 0",
        f"r 1.000000000 _0_ RTR  --- 0 tcp 1460 [0 0 0 0] {ends} 64 0] [0 0] 0 0",
        f"s 1.001000000 _0_ RTR  --- 0 tcp 1500 [0 0 0 0] {ends} 64 1] [0 0] 0 0",
        f"r 1.005000000 _1_ RTR  --- 0 tcp 1500 [0 1 0 800] {ends} 64 1] [0 0] 1 0",
        f"f 1.010000000 _1_ RTR  --- 0 tcp 1500 [0 1 0 800] {ends} 63 2] [0 0] 1 0",
        f"r 1.011000000 _2_ RTR  --- 0 tcp 1500 [0 2 1 800] {ends} 63 2] [0 0] 2 0",
        f"r 1.020000000 _2_ AGT  --- 0 tcp 1460 [0 2 1 800] {ends} 63 2] [0 0] 2 0",
        f"s 2.000000000 _0_ AGT  --- 1 tcp 1460 [0 0 0 0] {ends} 64 0] [1460 0] 0 0",
        f"r 2.000000000 _0_ RTR  --- 1 tcp 1460 [0 0 0 0] {ends} 64 0] [1460 0] 0 0",
    ]
    on_air = [line.split("-------")[0] for line in lines(found, mac=True) if " MAC " in line]
    assert on_air == [
        "s 1.001000000 _0_ MAC  --- 0 tcp 1536 [0 1 0 800] ",
        "D 1.002000000 _1_ MAC  COL 0 tcp 1536 [0 1 0 800] ",
        "s 1.004000000 _0_ MAC  --- 0 tcp 1536 [0 1 0 800] ",
        "r 1.005000000 _1_ MAC  --- 0 tcp 1536 [0 1 0 800] ",
        "s 1.010000000 _1_ MAC  --- 0 tcp 1536 [0 2 1 800] ",
        "r 1.011000000 _2_ MAC  --- 0 tcp 1536 [0 2 1 800] ",
    ]


def test_what_came_twice_counts_once(tmp_path: Path) -> None:
    """The acknowledgement got lost, so the frame is sent again, and known at its receiver."""
    found = run(
        tmp_path,
        {
            "packets": [packet(1000, 1.0, None, 7)],
            "frames": [frame(1.1, 0, 1, packet_id=7), frame(1.2, 0, 1, packet_id=7, attempt=2)],
        },
    )
    kinds = [(line[0], *line.split()[3:5]) for line in lines(found, mac=True)]
    assert kinds == [
        *[("s", "AGT", "---"), ("r", "RTR", "---")],
        *[("s", "RTR", "---"), ("s", "MAC", "---"), ("r", "MAC", "---"), ("r", "RTR", "---")],
        *[("s", "MAC", "---"), ("D", "MAC", "DUP")],
    ]


def test_acknowledgements_and_routing_have_numbers_behind_the_packets(tmp_path: Path) -> None:
    ends = {"packet_src": "10.0.0.3", "packet_dst": "10.0.0.1"}
    ack = {**ends, "src_port": 5201, "dst_port": 20_001, "payload_bytes": 0, "seq": 9, "bytes": 88}
    empty = dict.fromkeys(("packet_src", "packet_dst", "packet_id", "ttl", "src_port", "dst_port"))
    found = run(
        tmp_path,
        {
            "packets": [packet(1000, 1.0, None, 7), packet(1, 2.0, 2.1, 9, "flow1")],
            "frames": [
                frame(0.5, 0, None, protocol="dsr", kind="broadcast", packet_id=3, bytes=80),
                frame(0.6, 1, None, protocol="dsr", kind="broadcast", packet_id=3, bytes=84),
                frame(0.7, 1, None, protocol="babel", kind="broadcast", bytes=90, **empty),
                frame(0.8, 1, 0, protocol="arp", bytes=64, **empty),
                frame(1.2, 2, 1, **ack, packet_id=40, ack=2460),
                frame(1.3, 1, 0, **ack, packet_id=40, ack=2460),
                frame(1.4, 2, 1, **ack, packet_id=41, ack=3920),
                # After 2^16 more, the identification comes again.
                frame(1.5, 2, 1, **ack, packet_id=40, ack=5380),
            ],
        },
    )
    told = [fields(line) for line in lines(found)]
    assert [(t["op"], t["node"], t["kind"], t["uid"]) for t in told if t["level"] == "RTR"] == [
        ("s", "0", "DSR", "2"),
        ("f", "1", "DSR", "2"),
        ("s", "1", "message", "3"),
        ("r", "0", "tcp", "0"),
        *[("s", "2", "ack", "5"), ("r", "1", "ack", "5"), ("f", "1", "ack", "5")],
        ("r", "0", "ack", "5"),
        *[("s", "2", "ack", "6"), ("r", "1", "ack", "6")],
        *[("s", "2", "ack", "7"), ("r", "1", "ack", "7")],
        ("r", "2", "cbr", "1"),
    ]
    numbers = {t["uid"]: t["numbers"] for t in told if t["kind"] == "ack" and t["op"] == "s"}
    assert numbers == {"5": "[1460 1460] 0 0", "6": "[2920 2920] 0 0", "7": "[4380 4380] 0 0"}
    arp = [line for line in lines(found, mac=True) if " ARP " in line]
    assert arp[0] == "s 0.800000000 _1_ MAC  --- 4 ARP 64 [0 0 1 806] "
    assert sorted({int(t["uid"]) for t in told} | {4}) == list(range(8))


def test_who_dropped_what_and_why(tmp_path: Path) -> None:
    described = "src=10.0.0.1 dst=10.0.0.3 protocol=6 id=7 bytes=1512 ports=20001>5201 seq=1000"
    datagram = "src=10.0.0.3 dst=10.0.0.1 protocol=17 id=9 bytes=528"
    causes = [*ns2trace.OF_ROUTING]
    found = run(
        tmp_path,
        {
            "packets": [packet(1000, 1.0, None, 7), packet(4, 1.1, None, 9, "flow1")],
            "events": [
                *(
                    event(2 + i / 100, 1, "dsr", f"cause={c} {described}")
                    for i, c in enumerate(causes)
                ),
                *(
                    event(3 + i / 100, 0, "medium", f"cause={c} {described}")
                    for i, c in enumerate(ns2trace.OF_RADIO)
                ),
                event(4.0, 2, "dsr", f"cause=no-route {datagram}"),
                event(4.1, 2, "medium", "cause=queue-full kind=arp"),
                event(4.2, 2, "dsr", "cause=malformed"),
            ],
        },
    )
    told = [fields(line) for line in lines(found) if line[0] == "D"]
    whys = [(t["node"], t["level"], t["why"].strip()) for t in told]
    assert whys[: len(causes)] == [("1", "RTR", why) for why in ns2trace.OF_ROUTING.values()]
    assert whys[len(causes) :] == [
        *[("0", "IFQ", "IFQ"), ("0", "MAC", "RET"), ("0", "MAC", "SLP"), ("0", "MAC", "STA")],
        *[("2", "RTR", "NRTE"), ("2", "IFQ", "IFQ"), ("2", "RTR", "ERR")],
    ]
    assert {t["uid"] for t in told[: len(causes)]} == {"0"}
    assert (told[-3]["uid"], told[-3]["kind"], told[-3]["numbers"]) == ("1", "cbr", "[4] 0 0")
    only = [fields(line) for line in lines(found, flow="flow1")]
    assert [(t["op"], t["uid"]) for t in only] == [("s", "1"), ("r", "1"), ("D", "1")]


def test_every_cause_of_the_daemons_has_a_reason() -> None:
    """Those of `DropCause` in the protocols' cores."""
    from hoplab.model.keys.scenario import SETTINGS_OF
    from hoplab.model.resources import PROJECT

    causes: set[str] = set()
    for name in SETTINGS_OF:
        source = (PROJECT / f"daemons/{name}-core/src/event.rs").read_text(encoding="utf-8")
        causes.update(re.findall(r'DropCause::\w+ => "([a-z-]+)"', source))
    assert causes == set(ns2trace.OF_ROUTING)


def test_numbers_that_wrap_are_counted_from_the_flows_first(tmp_path: Path) -> None:
    first = (1 << 32) - 1460
    found = run(tmp_path, {"packets": [packet(first, 1.0, 1.1, 1), packet(0, 1.2, 1.3, 2)]})
    sent = [fields(line)["numbers"] for line in lines(found) if line[0] == "s"]
    assert sent == ["[0 0] 0 0", "[1460 0] 0 0"]


def test_a_run_without_packets_and_frames_has_no_trace(tmp_path: Path) -> None:
    found = run(tmp_path, {}, measure={})
    with pytest.raises(ResultsError, match=r"run it again with --set measure.packets=true"):
        lines(found)
    found = run(tmp_path / "2", {}, measure=AGENT)
    assert lines(found) == []
    with pytest.raises(ResultsError, match=r"kept no frames; .*measure.frames=true"):
        lines(found, mac=True)
    with pytest.raises(ResultsError, match="no flow 'x'; there are: flow0, flow1"):
        lines(found, flow="x")


def test_the_command_prints_a_window(tmp_path: Path) -> None:
    found = run(tmp_path, {"packets": [packet(1000, 1.0, 1.5, 7), packet(2460, 2.0, 2.5, 8)]})
    words = ["trace", str(found.run_dir), "--begin", "1.5", "--end", "2.5"]
    told = CliRunner().invoke(app, words, catch_exceptions=False).stdout.splitlines()
    assert [line.split()[1] for line in told] == ["1.500000000", "2.000000000", "2.000000000"]
    events = CliRunner().invoke(app, [*words, "--events"], catch_exceptions=False).stdout
    assert "t_s" in events and "_0_" not in events


PACKETS = 100_000


def _big(where: Path) -> Path:
    found = run(where, {"packets": [packet(0, 0.0, 0.1, 1)]}, duration_s=2000, measure=AGENT)
    columns = {
        "flow": pa.array(["flow0"] * PACKETS),
        "seq": pa.array(range(0, PACKETS * 1460, 1460), pa.int64()),
        "bytes": pa.array([1460] * PACKETS, pa.int64()),
        "sent_s": pa.array([i / 300 for i in range(PACKETS)], pa.float64()),
        "received_s": pa.array([i / 300 + 0.05 for i in range(PACKETS)], pa.float64()),
        "packet_id": pa.array([i % 65536 for i in range(PACKETS)], pa.int64()),
    }
    table = pa.table(columns).cast(arrow.schema(TABLES["packets"]))
    pq.write_table(table, found.run_dir / "tables" / "packets.parquet")
    return found.run_dir


def test_many_lines_take_little_memory(tmp_path: Path) -> None:
    made = _big(tmp_path)
    code = (
        "import re, sys; from pathlib import Path; from hoplab.front.commands.cli import main\n"
        "try: main()\n"
        "finally:\n"
        " status = Path('/proc/self/status').read_text()\n"
        " print(re.findall(r'VmHWM:\\s+(\\d+) kB', status)[0], file=sys.stderr)"
    )
    with (tmp_path / "out").open("w") as out:
        command = [sys.executable, "-c", code, "trace", str(made)]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=True)
    with (tmp_path / "out").open() as file:
        counts = Counter(line[0] for line in file)
    assert counts == {"s": PACKETS, "r": PACKETS}
    assert int(done.stderr) < 400 * 1024
