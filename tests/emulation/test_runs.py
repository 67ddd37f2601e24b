# SPDX-License-Identifier: Apache-2.0
"""Runs through the real kernel, held against physics, and their repeatability."""

import statistics
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.emulation.conftest import BY_DSR, Hoplab, Run, chain

DUMBBELL = """
duration_s = 10
[topology]
kind = "dumbbell"
[[flow]]
source = "n1"
destination = "n4"
"""

TICK_S = 256e-9


def test_one_hop_uses_the_channel(tmp_path: Path, run_scenario: Run) -> None:
    """2 Mbit/s WaveLAN, 1500-byte packets, one ACK for two segments.

    A data exchange takes DIFS 50 + backoff 310 + 192 + 1536 * 8 / 2 + SIFS 10 + ACK 304 us = 7010
    us. A TCP ACK's takes 50 + 310 + 192 + 76 * 4 + 10 + 304 = 1170 us. So 1460 bytes in 7010 + 585
    us are 1538 kbit/s without collisions.
    """
    run_scenario(chain(2))
    rows = pq.read_table(tmp_path / "run1" / "tables" / "tcp.parquet").to_pylist()
    delivered = {row["t_s"]: row["delivered_bytes"] for row in rows}
    goodput_kbps = (delivered[10.0] - delivered[4.0]) * 8e-3 / 6
    assert 0.95 * 1538 < goodput_kbps < 1.02 * 1538


def test_goodput_falls_with_hops(run_scenario: Run) -> None:
    """Neighbouring hops share the channel: two hops get at most half of one, three a third."""
    goodput = [run_scenario(chain(n))["flows"][0]["goodput_kbps"] for n in (2, 3, 4)]
    assert goodput[1] < 0.55 * goodput[0]
    assert goodput[2] < 0.40 * goodput[0]
    assert goodput[2] > 0.10 * goodput[0]


def test_wired_bottleneck(run_scenario: Run) -> None:
    """10 Mbit/s Ethernet: 1448 bytes of 1514 with timestamps are payload."""
    goodput = run_scenario(DUMBBELL)["flows"][0]["goodput_kbps"]
    assert 8000 < goodput < 10_000 * 1448 / 1514


@pytest.mark.parametrize(
    ("command", "status", "out"),
    [
        (["sh", "-c", "echo hello; exit 7"], 7, "hello\n"),
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "ls /sys/class/ieee80211 | wc -l"], 0, "2\n"),
    ],
)
def test_exec(hoplab: Hoplab, command: list[str], status: int, out: str) -> None:
    done = hoplab("exec", "--radios", "2", "--", *command, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (status, out)


def test_exec_cannot_write_to_the_host(tmp_path: Path, hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "touch", "gone", cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_panic_is_one_line_and_status_5(hoplab: Hoplab) -> None:
    done = hoplab(
        "exec", "--", "sh", "-c", "echo c > /proc/sysrq-trigger", stdin=subprocess.DEVNULL
    )
    assert done.returncode == 5
    assert "Kernel panic" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_in_use_is_refused(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(chain(2))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("x")
    done = hoplab("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 6
    assert "is not empty" in done.stderr
    assert (tmp_path / "out" / "precious").read_text() == "x"


UDP = """
duration_s = 10
[topology]
kind = "chain"
stations = {stations}
[measure]
packets = true
captures = ["n0", "n1:wlan0"]
[[flow]]
protocol = "udp"
rate_kbps = 100
packet_bytes = 500
source = "n0"
destination = "n{last}"
"""


def test_udp_is_counted_and_timed(tmp_path: Path, run_scenario: Run) -> None:
    """500 bytes and 28 of headers, 8 of LLC and 28 of MAC at 2 Mbit/s take 2448 us with 192 us of
    preamble. SIFS and the ACK's 304 us follow before the host has it. At 25 packets a second the
    channel has been idle for more than DIFS, so the frame goes at once (10.3.4.3)."""
    flow = run_scenario(UDP.format(stations=2, last=1))["flows"][0]
    assert flow["sent"] == pytest.approx(250, abs=3)
    assert (flow["received"], flow["lost"]) == (flow["sent"], 0)
    assert flow["goodput_kbps"] == pytest.approx(100, rel=0.02)
    rows = pq.read_table(tmp_path / "run1" / "tables" / "packets.parquet").to_pylist()
    delays = [row["received_s"] - row["sent_s"] for row in rows]
    least = (2448 + 10 + 304) * 1e-6
    # A time stamp is the last tick of the guest's clock.
    assert least - TICK_S <= min(delays)
    assert statistics.median(delays) < least + 20e-6
    assert 1e-3 * flow["latency_ms_mean"] == pytest.approx(sum(delays) / len(delays))


def test_captures_are_pcapng(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(UDP.format(stations=2, last=1))
    for name in ("n0-any", "n1-wlan0"):
        path = tmp_path / "run1" / "captures" / f"{name}.pcapng"
        read = subprocess.run(
            ["tcpdump", "-n", "-r", str(path), "udp port 20001"], capture_output=True, text=True
        )
        assert "reading from file" in read.stderr
        assert 245 < len(read.stdout.splitlines()) < 255
        assert path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


RELAYED = f"""
duration_s = 6
{BY_DSR}[[flow]]
source = "n2"
destination = "n0"
start_s = 1
stop_s = 4
"""


def test_a_capture_changes_no_table(tmp_path: Path, run_scenario: Run) -> None:
    """Not an order of events, not a microsecond of a round trip, not a counter: the digest is
    over all tables. (Where DSR loses packets it names their identifications, which do change.)"""
    plain = run_scenario(RELAYED)
    captures = 'measure.captures=["n0", "n1:wlan0", "n2:dsr0"]'
    captured = run_scenario(RELAYED, "--set", captures)
    assert captured["digest"] == plain["digest"]
    names = {path.name for path in (tmp_path / "run2" / "captures").iterdir()}
    assert names == {"n0-any.pcapng", "n1-wlan0.pcapng", "n2-dsr0.pcapng"}


def test_a_datagram_in_fragments_is_one_packet(tmp_path: Path, run_scenario: Run) -> None:
    """5000 bytes travel as three packets of up to 2304, ten times a second. Half of the frames are
    lost, some past their last try, so that some datagrams arrive in part."""
    text = UDP.format(stations=2, last=1).replace("packet_bytes = 500", "packet_bytes = 5000")
    lossy = text + '[[loss]]\nkind = "uniform"\nsrc = "n0"\ndst = "n1"\nrate = 0.5\n'
    whole = run_scenario(text.replace("rate_kbps = 100", "rate_kbps = 400"))["flows"][0]
    assert whole["sent"] == pytest.approx(100, abs=2)
    assert whole["delivered_bytes"] == whole["sent"] * 5000
    run_scenario(lossy.replace("rate_kbps = 100", "rate_kbps = 400"))
    rows = pq.read_table(tmp_path / "run2" / "tables" / "packets.parquet").to_pylist()
    arrived = [row for row in rows if row["received_s"] is not None]
    assert 0 < len(arrived) < len(rows)
    # Three fragments of 2304, 2304 and 476 bytes at 2 Mbit/s take at least 21 ms, one 9.6.
    assert min(row["received_s"] - row["sent_s"] for row in arrived) > 0.02


def test_a_flow_keeps_its_window_and_initial_window(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(chain(2), "--set", "tcp.initial_window=2", "--set", "measure.packets=true")
    rows = pq.read_table(tmp_path / "run1" / "tables" / "tcp.parquet").to_pylist()
    assert max(row["in_flight"] for row in rows) == 8
    packets = pq.read_table(tmp_path / "run1" / "tables" / "packets.parquet").to_pylist()
    data = [packet["sent_s"] for packet in packets if packet["bytes"] == 1460]
    assert data[1] - data[0] < 1e-4 < data[2] - data[1]
