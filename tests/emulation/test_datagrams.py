# SPDX-License-Identifier: Apache-2.0
"""UDP flows: at their rate from their start, and measured over time."""

import statistics
from itertools import pairwise
from pathlib import Path

import pytest

from hoplab.host import results
from hoplab.host.results import datagrams
from hoplab.show.report.data import figures
from tests.emulation.conftest import Run

WIRE = """
duration_s = 3
station = [{ name = "a", radio = false }, { name = "b", radio = false }]
link = [{ ends = ["a", "b"], rate_mbps = 10, delay_ms = 10 }]
[measure]
packets = true
interval_s = 0.25
"""
OVER_WIRE = """
[[flow]]
protocol = "udp"
source = "a"
destination = "b"
packet_bytes = 1000
start_s = 0.5
"""
HIDDEN = """
duration_s = 6
[radio]
profile = "wavelan"
carrier_sense_m = 250
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 200
[[station]]
name = "c"
x_m = 400
"""


def flow(source: str, start_s: float, rate_kbps: float, more: str = "") -> str:
    ends = f'source = "{source}"\ndestination = "b"\nstart_s = {start_s}\n'
    return f'[[flow]]\nprotocol = "udp"\nrate_kbps = {rate_kbps}\npacket_bytes = 1000\n{ends}{more}'


def _sent(run: Path, flow: str = "flow0") -> list[float]:
    rows = results.load(run).rows("packets")
    return [row["sent_s"] for row in rows if row["flow"] == flow]


def test_the_second_hidden_sender_begins_at_its_start(tmp_path: Path, run_scenario: Run) -> None:
    """Frames of the two senders spoil each other, nearly all of the second one's. Nothing but its
    own clock decides when a datagram goes to its radio."""
    text = HIDDEN + "[measure]\npackets = true\n"
    run_scenario(text + flow("a", 1.5, 800) + flow("c", 2, 100))
    sent = _sent(tmp_path / "run1", "flow1")
    # 100 kbit/s are 12.5 datagrams of 1000 octets a second.
    assert sent == pytest.approx([2 + 0.08 * i for i in range(50)], abs=20e-6)


def test_even_spacing_does_not_drift(tmp_path: Path, run_scenario: Run) -> None:
    """A guest's clock and its steps are a few microseconds."""
    run_scenario(WIRE + OVER_WIRE + "rate_kbps = 2400\n")
    sent = _sent(tmp_path / "run1")
    assert sent == pytest.approx([0.5 + i / 300 for i in range(750)], abs=20e-6)


@pytest.mark.parametrize("generator", ["hoplab", "iperf3"])
def test_rows_over_time_are_those_of_the_packets(
    tmp_path: Path, run_scenario: Run, generator: str
) -> None:
    """What the receiver counts while the run goes is what the captures at both ends say after it.
    The captures begin behind the source's own queue, so nothing may wait there."""
    more = f'rate_kbps = 6000\ngenerator = "{generator}"\nstop_s = 2.9\n'
    (told,) = run_scenario(WIRE + OVER_WIRE + more)["flows"]
    run = results.load(tmp_path / "run1")
    rows = run.rows("udp")
    expected = datagrams.of_packets("flow0", run.packets, 0.5, 2.9, 0.25)
    assert [row["t_s"] for row in rows] == [0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 2.9]
    for row, other in zip(rows, expected, strict=True):
        assert row == pytest.approx(other, abs=0.02)
    assert rows[-1]["received"] == told["received"]
    assert told["latency_ms_p50"] <= told["latency_ms_p95"] <= told["latency_ms_p99"]
    # Nothing varies on a wire. iperf3 looks at its clock between two datagrams.
    assert told["jitter_ms"] == 0 if generator == "hoplab" else 0 < told["jitter_ms"] < 0.01


def test_what_a_wire_loses_is_lost(tmp_path: Path, run_scenario: Run) -> None:
    """A wired loss takes packets behind the capture at their destination. 1500 packets at a tenth:
    150, within four times their deviation of 11.6."""
    loss = '[[loss]]\nkind = "uniform"\nsrc = "a"\ndst = "b"\nrate = 0.1\n'
    (told,) = run_scenario(WIRE + loss + OVER_WIRE + "rate_kbps = 5000\nstop_s = 2.9\n")["flows"]
    assert told["sent"] == 1500
    assert told["lost"] == pytest.approx(150, abs=46)
    last = results.load(tmp_path / "run1").rows("udp")[-1]
    # Those of the last 10 ms were on their way.
    assert told["lost"] - 8 <= last["lost"] <= told["lost"]
    assert told["delivered_bytes"] == last["delivered_bytes"] == 1000 * told["received"]


def test_a_flow_without_a_rate_fills_its_path(tmp_path: Path, run_scenario: Run) -> None:
    """1028 octets and 14 of Ethernet at 10 Mbit/s: 1199 datagrams a second. It has no end but its
    own, and its first datagram needs 10.8 ms."""
    (told,) = run_scenario(WIRE + OVER_WIRE + "stop_s = 2.5\n")["flows"]
    assert told["received"] == pytest.approx(1199 * (2 - 0.0108), rel=0.005)
    assert told["lost"] < 0.2 * told["sent"]


CAMERA = """
[[program]]
name = "screen"
station = "b"
run = "python3 screen.py"
ready = { port = 9000 }
[program.file]
"screen.py" = '''
import socket, struct, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("", 9000))
while True:
    number, sent_s = struct.unpack("!Id", here.recv(2000)[:12])
    print(number, time.time() - sent_s, flush=True)
'''
[[program]]
name = "camera"
station = "a"
start_s = 1
expect = 0
measure = true
run = "python3 camera.py"
[program.file]
"camera.py" = '''
import socket, struct, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.connect(("b", 9000))
for number in range(300):
    octets = 200 if number % 10 == 0 else 1000
    here.send(struct.pack("!Id", number, time.time()).ljust(octets, b" "))
    time.sleep(0.005)
'''
"""


def test_a_programs_datagrams_are_measured_over_time_as_the_program_does(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Only the sender is measured, and packets are not kept. Its peer's station shows what came."""
    wire = WIRE.replace("packets = true\n", "").replace(
        "delay_ms = 10", "delay_ms = 10, loss = 0.1"
    )
    (told,) = run_scenario(wire + CAMERA)["flows"]
    said = (tmp_path / "run1" / "logs" / "program-screen.out").read_text().splitlines()
    delays_ms = [1e3 * float(line.split()[1]) for line in said]
    numbers = [int(line.split()[0]) for line in said]
    assert (told["sent"], told["received"]) == (300, len(said))
    assert told["lost"] == 300 - len(said) > 0
    short = sum(number % 10 == 0 for number in numbers)
    assert told["delivered_bytes"] == 1000 * len(said) - 800 * short
    # A kilobyte takes 0.8 ms beside the wire's 10 ms, and a short one 0.2 ms.
    assert told["latency_ms_p50"] == pytest.approx(statistics.median(delays_ms), abs=0.02)
    assert 10.8 < told["latency_ms_p50"] <= told["latency_ms_p99"] < 10.9
    jumps = [abs(b - a) for a, b in pairwise(delays_ms)]
    assert told["jitter_ms"] == pytest.approx(statistics.mean(jumps), abs=0.02)
    run = results.load(tmp_path / "run1")
    rows = run.rows("udp")
    assert {row["flow"].partition(":")[0] for row in rows} == {"camera"}
    assert [row["t_s"] for row in rows[:-1]] == [1.25, 1.5, 1.75, 2, 2.25, 2.5]
    last = rows[-1]
    assert (last["received"], last["delivered_bytes"]) == (len(said), told["delivered_bytes"])
    # A loss shows once a later number came.
    assert last["lost"] == numbers[-1] + 1 - len(said)
    panels = [panel["title"] for panel in figures(run)["panels"]]
    assert panels == ["Goodput", "One-way delay", "Jitter", "Lost datagrams"]


LATE_ROUTE = """
duration_s = 20
warm_up_s = 0
[topology]
kind = "chain"
stations = 3
spacing_m = 200
[radio]
profile = "wavelan"
[routing]
protocol = "babeld"
[[flow]]
protocol = "udp"
source = "n0"
destination = "n2"
rate_kbps = 40
packet_bytes = 500
start_s = 0
"""


def test_a_flow_begins_before_its_route(tmp_path: Path, run_scenario: Run) -> None:
    """Babel knows nobody at first. What is sent until it does is lost, and the rest goes."""
    run_scenario(LATE_ROUTE)
    run = results.load(tmp_path / "run1")
    assert not [row for row in run.rows("events") if row["kind"] == "flow-lost"]
    came = [row["received"] for row in run.rows("udp")]
    assert came[0] == 0 and came[-1] > 150  # of ten a second
    # Its log has no tables in it.
    assert (tmp_path / "run1/logs/babeld-n0.log").stat().st_size < 10_000
