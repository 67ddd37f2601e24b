# SPDX-License-Identifier: Apache-2.0
"""Programs of the user's as traffic: unmodified, in virtual time, the same each time."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.emulation.conftest import NETWORK, Hoplab, run

WEB = f"""{NETWORK}
[[program]]
name = "server"
station = "n2"
run = "python3 -m http.server 80"
ready = {{ port = 80 }}
files = "pages"
[[program]]
name = "client"
station = "n0"
run = "python3 get.py http://n2/page"
start_s = 1
expect = 0
measure = true
[program.env]
ANSWER = "answer"
[program.file]
"get.py" = '''
import os, sys, urllib.request
data = urllib.request.urlopen(sys.argv[1]).read()
open(os.environ["ANSWER"], "wb").write(data)
print(len(data), os.getcwd().rpartition("/")[2])
'''
"""
PAGE_BYTES = 100_000


def one(run: str, more: str = "") -> str:
    """A scenario of one program at n0."""
    return f'{NETWORK}[[program]]\nname = "one"\nstation = "n0"\nrun = "{run}"\n{more}'


@pytest.fixture
def web(tmp_path: Path) -> Path:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "page").write_bytes(bytes(range(250)) * (PAGE_BYTES // 250))
    (tmp_path / "web.toml").write_text(WEB)
    return tmp_path / "web.toml"


@pytest.fixture
def failure(tmp_path: Path, hoplab: Hoplab) -> Callable[[str], tuple[int, str]]:
    """Exit status of a run that fails, and what it says."""

    def run(text: str) -> tuple[int, str]:
        (tmp_path / "scenario.toml").write_text(text)
        done = hoplab("run", str(tmp_path / "scenario.toml"), "--out", str(tmp_path / "out"))
        assert done.stderr.count("\n") == 1, done.stderr
        return done.returncode, done.stderr

    return run


def events(out: Path) -> dict[tuple[str, str], float]:
    """When what happened to programs did."""
    rows = map(json.loads, (out / "raw" / "events.jsonl").read_text().splitlines())
    return {
        (row["kind"], row["detail"].split()[0]): row["t_s"]
        for row in rows
        if row["kind"].startswith("program-")
    }


def test_a_server_and_its_client(web: Path, hoplab: Hoplab) -> None:
    first = run(hoplab, web, "first")
    out = web.parent / "first"
    assert (out / "logs" / "program-client.out").read_text() == f"{PAGE_BYTES} client\n"
    assert '"GET /page HTTP/1.1" 200' in (out / "logs" / "program-server.err").read_text()
    # What it wrote comes out, beside what it was given.
    page = web.parent / "pages" / "page"
    assert (out / "programs" / "client" / "answer").read_bytes() == page.read_bytes()
    when = events(out)
    assert when["program-ready", "server"] < 0 < when["program-start", "client"] == 1
    # Two hops of 2 Mbit/s in turn: no faster than 1 Mbit/s, and by far not as slow as a tenth.
    took_s = when["program-end", "client"] - 1
    assert PAGE_BYTES * 8 / 1e6 < took_s < PAGE_BYTES * 8 / 1e5
    # What it measured is what the program saw: the page, and some octets of HTTP around it.
    (flow,) = (flow for flow in first["flows"] if flow["name"] == "client")
    (row,) = rows(out, "connections")
    assert (row["node"], row["peer"], row["peer_port"]) == ("n0", "n2", 80)
    assert PAGE_BYTES < row["received_bytes"] == flow["delivered_bytes"] < PAGE_BYTES + 500
    assert row["start_s"] < row["first_octet_s"] < row["end_s"] <= when["program-end", "client"]
    (total,) = (one for one in rows(out, "flows") if one["flow"] == "client")
    for key in ("start_s", "first_octet_s"):
        assert flow[key] == total[key] == row[key]
    assert flow["stop_s"] == total["stop_s"] == row["end_s"]
    assert row["end_s"] - 1 == pytest.approx(took_s, rel=0.01)
    sampled = [one for one in rows(out, "tcp") if one["flow"] == f"client:{row['port']}<n2:80"]
    assert len(sampled) == pytest.approx(took_s / 0.1, abs=3)
    delivered = [one["delivered_bytes"] for one in sampled]
    assert delivered == sorted(delivered)
    assert delivered[-1] == row["received_bytes"] + 1  # the FIN's place counts as an octet
    # Again, it is the same, by verify too, which has no folder of files.
    assert run(hoplab, web, "second")["digest"] == first["digest"]
    page.rename(web.parent / "elsewhere")
    done = hoplab("verify", str(out))
    assert done.returncode == 0, done.stderr


ASKED = f"""{NETWORK}
[measure]
packets = true
[[program]]
station = "n2"
run = "python3 -m http.server 80"
ready = {{ port = 80 }}
file = {{ page = "A page." }}
[[program]]
station = "n2"
run = "python3 echo.py"
[program.file]
"echo.py" = '''
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("", 7))
while True:
    here.sendto(*here.recvfrom(2000))
'''
[[program]]
name = "web"
station = "n0"
run = "busybox wget -q -O answer http://n2/page"
start_s = 2
measure = true
[[program]]
name = "ask"
station = "n0"
run = "python3 ask.py"
start_s = 3
measure = true
[program.file]
"ask.py" = '''
import socket, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(10):
    began = time.monotonic()
    here.sendto(bytes(500), ("n2", 7))
    here.recv(2000)
    print((time.monotonic() - began) * 1e3)
    time.sleep(0.1)
'''
"""


def test_round_trips_and_delays_of_datagrams(tmp_path: Path, hoplab: Hoplab) -> None:
    (tmp_path / "asked.toml").write_text(ASKED)
    run(hoplab, tmp_path / "asked.toml", "out")
    out = tmp_path / "out"
    said = [float(line) for line in (out / "logs" / "program-ask.out").read_text().split()]
    (ask,) = (row for row in rows(out, "connections") if row["flow"] == "ask")
    # The program looks for a name first, and its datagram is on its way only then.
    assert ask["rtt_ms_min"] == pytest.approx(min(said), rel=0.05)
    assert ask["rtt_ms_mean"] == pytest.approx(sum(said) / len(said), rel=0.05)
    packets = rows(out, "packets")
    there, back = (
        [p for p in packets if p["flow"] == f"ask:{ask['port']}{sign}n2:7"] for sign in "><"
    )
    assert [p["seq"] for p in there] == [p["seq"] for p in back] == list(range(10))
    # They are equal, and each is answered at the instant at which it comes.
    for number, (asked, answered) in enumerate(zip(there, back, strict=True)):
        assert answered["sent_s"] - asked["received_s"] == pytest.approx(0, abs=1e-4)
        took_ms = 1e3 * (answered["received_s"] - asked["sent_s"])
        assert took_ms == pytest.approx(said[number], rel=0.05)
    # It ended before the first look at sockets, when no other program of n0 went.
    (web,) = (row for row in rows(out, "connections") if row["flow"] == "web")
    assert web["end_s"] - web["start_s"] < 0.1 and web["received_bytes"] > len("A page.")


def rows(out: Path, table: str) -> list[dict[str, Any]]:
    return list(map(json.loads, (out / "raw" / f"{table}.jsonl").read_text().splitlines()))


PAIR = """
[[program]]
name = "server"
station = "n2"
run = "python3 -m http.server 80"
ready = {{ port = 80 }}
files = "pages"
[[program]]
name = "other"
station = "n0"
run = "python3 -c 'import time; time.sleep(9)'"
{clients}
"""
CLIENT = """
[[program]]
name = "{name}"
station = "n0"
start_s = {start_s}
run = '''python3 -c "import urllib.request as u; u.urlopen('http://n2/{page}').read()"'''
measure = true
"""


def test_programs_of_a_station_are_told_apart(web: Path, hoplab: Hoplab) -> None:
    (web.parent / "pages" / "half").write_bytes(bytes(PAGE_BYTES // 2))
    clients = CLIENT.format(name="whole", page="page", start_s=1)
    clients += CLIENT.format(name="half", page="half", start_s=1.05)
    web.write_text(NETWORK + PAIR.format(clients=clients))
    told = run(hoplab, web, "out")
    assert told["warnings"] == []
    found = {row["flow"]: row["received_bytes"] for row in rows(web.parent / "out", "connections")}
    assert {name: size // 1000 for name, size in found.items()} == {"whole": 100, "half": 50}


def test_a_routing_daemons_packets_are_no_programs(web: Path, hoplab: Hoplab) -> None:
    routing = '[routing]\nprotocol = "batmand"\n'
    web.write_text(WEB.replace("ready =", "measure = true\nready =") + routing)
    run(hoplab, web, "out")
    ports = {(row["flow"], row["protocol"]) for row in rows(web.parent / "out", "connections")}
    assert ports == {("client", "tcp"), ("server", "tcp")}
    late = CLIENT.format(name="late", page="page", start_s=3)
    web.write_text(NETWORK.replace("duration_s = 12", "duration_s = 5") + late + routing)
    done = hoplab("run", str(web), "--out", str(web.parent / "late"))
    assert "program late: ended with status 1" in done.stderr  # there is no server
    assert {row["protocol"] for row in rows(web.parent / "late", "connections")} == {"tcp"}


def test_a_short_connection_counts_where_it_can_be_only_one_programs(
    web: Path, hoplab: Hoplab
) -> None:
    (web.parent / "pages" / "page").write_bytes(b"short")
    web.write_text(WEB + "[measure]\ninterval_s = 5\n")
    (flow,) = run(hoplab, web, "alone")["flows"]
    assert 100 < flow["delivered_bytes"] < 500
    # Among several, the message says that nobody knows whose it was.
    clients = CLIENT.format(name="one", page="page", start_s=1)
    web.write_text(NETWORK + PAIR.format(clients=clients) + "[measure]\ninterval_s = 5\n")
    told = run(hoplab, web, "among")
    assert told["flows"][0]["delivered_bytes"] == 0
    assert "1 connections at n0 were too short" in told["warnings"][0]


UDP = """
[[program]]
name = "echo"
station = "n2"
run = "python3 echo.py"
ready = { port = 9000 }
measure = true
[program.file]
"echo.py" = '''
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9000))
while True:
    data, peer = s.recvfrom(2000)
    s.sendto(data[:100], peer)
'''
[[program]]
name = "ask"
station = "n0"
expect = 0
measure = true
run = "python3 ask.py"
[program.file]
"ask.py" = '''
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20):
    s.sendto(bytes(500), ("n2", 9000))
    s.recv(2000)
    time.sleep(0.1)
'''
"""


def test_datagrams_are_counted_at_each_end(tmp_path: Path, hoplab: Hoplab) -> None:
    (tmp_path / "scenario.toml").write_text(NETWORK + UDP)
    run(hoplab, tmp_path / "scenario.toml", "out")
    told = {row["flow"]: row for row in rows(tmp_path / "out", "connections")}
    octets = {name: (row["sent_bytes"], row["received_bytes"]) for name, row in told.items()}
    assert octets == {"ask": (10_000, 2000), "echo": (2000, 10_000)}
    assert {row["sent_packets"] for row in told.values()} == {20}
    flows = {row["flow"]: row for row in rows(tmp_path / "out", "flows")}
    for one in flows.values():
        counts = [one[key] for key in ("delivered_bytes", "sent", "received", "lost")]
        assert counts == [10_000, 20, 20, 0]


def test_another_file_is_another_run(web: Path, hoplab: Hoplab) -> None:
    first = run(hoplab, web, "first")
    (web.parent / "pages" / "page").write_bytes(b"short")
    assert run(hoplab, web, "second")["digest"] != first["digest"]


def test_the_signal_that_stops_it_is_its_own(tmp_path: Path, hoplab: Hoplab) -> None:
    code = "import signal\nsignal.sigwait({signal.SIGINT})\nprint('interrupted', flush=True)\n"
    code += "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.pause()\n"
    text = one("python3 wait.py", 'stop_s = 2\nsignal = "INT"\n[program.file]\n"wait.py" = """\n')
    (tmp_path / "scenario.toml").write_text(
        f"{text}import signal\n"
        f'signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n{code}"""\n'
    )
    run(hoplab, tmp_path / "scenario.toml", "out")
    assert (tmp_path / "out" / "logs" / "program-one.out").read_text() == "interrupted\n"
    # It does not care, so it is killed five seconds later.
    ends = events(tmp_path / "out")["program-end", "one"]
    assert ends == pytest.approx(7, abs=0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (one("no-such-program --fast"), "program one: run: there is no 'no-such-program'"),
        (one("./missing"), "program one: run: there is no './missing'"),
        (
            one("python3 -c 'raise SystemExit(3)'", "start_s = 1"),
            r"program one: ended with status 3 at 1\.\d+ s; it said last: it said nothing",
        ),
        (
            one("python3 -c 'raise SystemExit(3)'", "expect = 4"),
            "program one: ended with status 3 at 0.* s, expected was 4",
        ),
        (
            one("sleep 100", "expect = 0"),
            "program one: had not ended by 12 s, but expect is 0",
        ),
        (
            one("sleep 100", "expect = 0\nstop_s = 3"),
            "program one: had not ended by its stop at 3 s, but expect is 0",
        ),
        (
            one("python3 -c 'print(1/0)'", "ready = { port = 80 }"),
            "program one: ended with status 1 before it was ready; it said last: ZeroDivisionError",
        ),
        (
            one("sleep 100", "ready = { port = 80, limit_s = 2 }"),
            "program one: was not ready within 2 s: nobody listens at port 80 of n0",
        ),
        (
            one("sleep 100", 'ready = { log = "listening" }'),
            "program one: was not ready within 5 s: nothing in its logs matches 'listening'",
        ),
    ],
    ids=lambda value: value.split("run = ")[-1][:40] if "run = " in value else None,
)
def test_what_goes_wrong_is_named(
    text: str, said: str, failure: Callable[[str], tuple[int, str]]
) -> None:
    status, line = failure(text)
    assert status == (3 if "there is no" in said else 4), line
    assert re.search(said, line), line


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [("KILL", 1, "the lab ended early, with status 137"), ("TERM", 143, "terminated")],
)
def test_a_program_that_ends_all_processes_is_named(
    name: str, status: int, said: str, failure: Callable[[str], tuple[int, str]]
) -> None:
    found, line = failure(one(f"sh -c 'sleep 1; kill -{name} -1'"))
    assert found == status
    assert f"{said}; program one (sh -c 'sleep 1; kill -{name} -1') was running" in line


def test_a_program_that_computes_for_ever_is_named(tmp_path: Path, hoplab: Hoplab) -> None:
    """After five seconds of processor time, and once more when it ends the run after thirty."""
    code = "while True: pass"
    others = '[[program]]\nname = "other"\nstation = "n0"\nrun = "sleep 100"\n'
    text = f'{others}[[program]]\nname = "spins"\nstation = "n1"\nstart_s = 1\n'
    (tmp_path / "spins.toml").write_text(f"{NETWORK}{text}run = '''python3 -c '{code}''''")
    done = hoplab("run", str(tmp_path / "spins.toml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 5
    early, line = done.stderr.splitlines()
    for said in (early, line):
        assert said.startswith("hoplab: program spins (python3 -c"), said
        assert "virtual time hardly moves" in said
        assert "other" not in said
    assert early.endswith("it goes on: press Ctrl-C to end it") and "guest kernel: hung" in line


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        # The host's own writers, and the engine in the guest's kernel.
        ("flows.jsonl", 6, r"raw/flows.jsonl: cannot be used: .*; remove it; .*'hoplab finish "),
        ("medium.json", 4, r"raw/medium.json: is no regular file but a pipe, .*; let no program"),
    ],
)
def test_a_pipe_of_a_programs_in_the_runs_folder_delays_no_end(
    name: str, status: int, said: str, failure: Callable[[str], tuple[int, str]]
) -> None:
    """The reader that would open it finds it, and says which file it is."""
    text = '[[program]]\nname = "pipes"\nstation = "n1"\n'
    text += f"""run = "sh -c 'mkfifo /out/raw/{name}'"\n"""
    found, line = failure(f"{NETWORK}{text}")
    assert found == status
    assert re.search(said, line)


@pytest.mark.hoplab
def test_commands_of_a_tests_network_know_stations_by_name(
    network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And they are where the test is."""
    monkeypatch.chdir(tmp_path)
    net = network({"topology": {"kind": "chain", "stations": 3}})
    code = "import socket; print(socket.gethostbyname('n2'))"
    assert net.run("n0", "python3", "-c", code).stdout == f"{net.address['n2']}\n"
    assert net.run("n0", "pwd").stdout == f"{tmp_path}\n"


ADDED = f"""{NETWORK}
[machine]
add = ["./serve", "tools"]
[[program]]
name = "server"
station = "n2"
run = "serve 9000"
ready = {{ port = 9000 }}
[[program]]
name = "client"
station = "n0"
run = "sh -c 'ask n2 9000'"
start_s = 1
expect = 0
measure = true
"""
SERVE = """#!/usr/bin/python3
import socket, sys
with socket.create_server(("", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].sendall(b"%s")
"""
ASK = """#!/usr/bin/python3
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
    print(connection.recv(100).decode())
"""


def test_what_a_scenario_adds_every_program_finds(tmp_path: Path, hoplab: Hoplab) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(ADDED)
    (tmp_path / "serve").write_text(SERVE % "hello")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ask").write_text(ASK)
    first = run(hoplab, scenario, "first")
    said = tmp_path / "first" / "logs" / "program-client.out"
    assert said.read_text() == "hello\n"
    # The run holds them: it is had again without, and by another's octets it is another.
    (tmp_path / "tools" / "ask").unlink()
    done = hoplab("verify", str(tmp_path / "first"))
    assert done.returncode == 0, done.stderr
    (tmp_path / "tools" / "ask").write_text(ASK)
    (tmp_path / "serve").write_text(SERVE % "hello, and more")
    assert run(hoplab, scenario, "second")["digest"] != first["digest"]
