# SPDX-License-Identifier: Apache-2.0
"""The medium through the real kernel: its records against each other and against physics."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

PAIR = """
duration_s = 6
[topology]
kind = "pair"
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n1"
window = 8
"""

RECORDED = """
[measure]
frames = true
captures = ["air"]
[radio]
rts_threshold = 500
energy = { preset = "lucent-bronze" }
[[loss]]
kind = "uniform"
rate = 0.05
"""

LOW_LOAD = """
duration_s = 20
[topology]
kind = "pair"
[[flow]]
protocol = "udp"
source = "n0"
destination = "n1"
rate_kbps = 8
packet_bytes = 100
"""

AIR_S = ("data", "ack", "rts", "cts", "beacon", "broadcast")


def packets(capture: Path) -> list[str]:
    done = subprocess.run(
        ["tcpdump", "-ner", str(capture)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def account(run: Path) -> dict[str, Any]:
    manifest = json.loads((run / "manifest.json").read_text())
    medium: dict[str, Any] = manifest["medium"]
    return medium


QUIET_END = """
duration_s = 3.05
[topology]
kind = "pair"
[radio]
energy = { tx_w = 1, rx_w = 1, idle_w = 1, sleep_w = 1 }
[[flow]]
protocol = "udp"
source = "n0"
destination = "n1"
rate_kbps = 100
stop_s = 1
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with everything recorded."""
    from hoplab.model.resources import PROJECT

    folder = tmp_path_factory.mktemp("recorded")
    (folder / "pair.toml").write_text(PAIR + RECORDED)
    command = [str(PROJECT / ".venv" / "bin" / "hoplab"), "run", str(folder / "pair.toml")]
    subprocess.run([*command, "--out", str(folder / "run")], check=True, capture_output=True)
    return folder / "run"


def test_no_frame_is_invented_or_lost(recorded: Path) -> None:
    medium = account(recorded)
    assert medium["trustworthy"] and medium["doubts"] == []
    frames, kernel = medium["frames"], medium["kernel"]
    outcomes = ("acked", "sent", "retry_limit", "queue_full", "off", "refused")
    assert frames["accepted"] == sum(frames[key] for key in outcomes) + frames["open"]
    assert kernel["frames"] == frames["accepted"]
    assert kernel["statuses"] == kernel["frames"] - frames["open"]
    for key in ("malformed", "overruns", "unknown_radios", "refused_statuses"):
        assert kernel[key] == 0


def test_frames_links_and_capture_tell_the_same(recorded: Path) -> None:
    run = results.load(recorded)
    frames = run.rows("frames")
    kinds = Counter(row["kind"] for row in frames)
    assert kinds["rts"] > 100 and kinds["cts"] > 100 and kinds["ack"] > 100
    assert {row["fate"] for row in frames} >= {"delivered", "error-model"}
    for link in run.rows("links"):
        fates = Counter(
            row["fate"]
            for row in frames
            if row["kind"] == "data" and (row["src"], row["dst"]) == (link["src"], link["dst"])
        )
        for fate in ("delivered", "collided", "weak", "error-model", "deaf", "off"):
            # The link also counts the few broadcasts that it carried.
            broadcasts = kinds["broadcast"] + kinds["beacon"]
            assert 0 <= link[fate.replace("-", "_")] - fates[fate] <= broadcasts
    captured = packets(recorded / "captures" / "air.pcapng")
    assert len(captured) == len(frames)
    assert sum("Acknowledgment" in line for line in captured) == kinds["ack"]
    assert sum("Request-To-Send" in line for line in captured) == kinds["rts"]
    assert sum("Clear-To-Send" in line for line in captured) == kinds["cts"]
    assert all("MHz" in line and "dBm noise" in line and "Mb/s" in line for line in captured)
    times = [line.split()[0] for line in captured]
    assert times == sorted(times)


def test_energy_is_power_times_time(recorded: Path) -> None:
    rows = results.load(recorded).rows("radios")
    for row in rows:
        sent = sum(row[f"airtime_{kind}_s"] for kind in AIR_S)
        assert row["energy_tx_j"] == pytest.approx(1.327 * sent, rel=1e-3)
        assert row["energy_rx_j"] == pytest.approx(0.967 * (row["busy_s"] - sent), rel=1e-3)
        assert row["energy_idle_j"] == pytest.approx(0.844 * (6 - row["busy_s"]), rel=2e-3)


def test_signals_are_where_the_stations_are(recorded: Path) -> None:
    """200 m at 24.5 dBm, two-ray: 24.5 + 40 log10(1.5) - 40 log10(200) = -60.5 dBm."""
    rows = [row for row in results.load(recorded).rows("signals") if row["quantity"] == "signal"]
    assert {row["dbm"] for row in rows} == {-61}
    links = results.load(recorded).rows("links")
    assert sum(row["frames"] for row in rows) == sum(link["frames"] for link in links)


def test_few_system_calls_at_low_load(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(LOW_LOAD)
    calls = account(tmp_path / "run1")["system_calls"]
    assert calls["per_frame"] <= 4.0


def test_records_reach_to_the_end_of_the_run(tmp_path: Path, run_scenario: Run) -> None:
    """Two seconds without a frame, beacons apart, count like others: 1 W is 3.05 J."""
    run_scenario(QUIET_END)
    run = results.load(tmp_path / "run1")
    times = [row["t_s"] for row in run.rows("nodes") if row["node"] == "n1"]
    assert times == pytest.approx([step / 10 for step in range(31)])
    for row in run.rows("radios"):
        spent = sum(row[f"energy_{state}_j"] for state in ("tx", "rx", "idle", "sleep"))
        assert spent == pytest.approx(3.05, rel=1e-9)


def test_a_capture_changes_nothing_that_the_medium_counts(
    tmp_path: Path, run_scenario: Run
) -> None:
    """tcpdump keeps the daemon alive a second longer; the tables end with the run."""
    run_scenario(PAIR)
    run_scenario(PAIR + '[measure]\ncaptures = ["n0"]\n')
    plain, captured = (results.load(tmp_path / name) for name in ("run1", "run2"))
    for table in ("nodes", "radios", "links", "signals"):
        assert plain.rows(table) == captured.rows(table)
    assert account(tmp_path / "run2")["trustworthy"]


def test_a_station_that_moves_away_is_gone(tmp_path: Path, run_scenario: Run) -> None:
    event = '[[event]]\nat_s = 3\nkind = "move"\nstation = "n1"\nx_m = 2000\ny_m = 0\n'
    run_scenario(PAIR + event)
    run = results.load(tmp_path / "run1")
    received = {row["t_s"]: row["rx_frames"] for row in run.rows("nodes") if row["node"] == "n1"}
    assert received[2.9] > 100
    assert received[5.9] == received[3.1]
    places = {row["t_s"]: row["x_m"] for row in run.rows("nodes") if row["node"] == "n1"}
    assert (places[2.9], places[3.0]) == (200.0, 2000.0)


def test_a_loss_event_holds_from_then_on(tmp_path: Path, run_scenario: Run) -> None:
    events = """
[measure]
frames = true
[[event]]
at_s = 3
kind = "loss"
src = "n0"
dst = "n1"
rate = 0.5
"""
    run_scenario(PAIR + events)
    rows = results.load(tmp_path / "run1").rows("frames")
    data = [row for row in rows if (row["kind"], row["src"]) == ("data", "n0")]
    before = [row["fate"] for row in data if row["t_s"] < 3]
    after = [row["fate"] for row in data if row["t_s"] > 3]
    assert "error-model" not in before
    share = after.count("error-model") / len(after)
    assert abs(share - 0.5) < 5 * (0.25 / len(after)) ** 0.5


def test_an_empty_battery_is_told(tmp_path: Path, run_scenario: Run) -> None:
    """2 J at 0.844 W idle and more otherwise last less than 2.37 s."""
    radio = '[radio]\nenergy = { preset = "lucent-bronze", battery_j = 2 }\n'
    run_scenario(PAIR + radio)
    run = results.load(tmp_path / "run1")
    ends = {r["node"]: r["t_s"] for r in run.rows("events") if r["kind"] == "battery-empty"}
    assert set(ends) == {"n0", "n1"}
    assert all(2 / 1.327 < t_s < 2 / 0.844 for t_s in ends.values())
    for row in run.rows("radios"):
        spent = sum(row[f"energy_{state}_j"] for state in ("tx", "rx", "idle", "sleep"))
        assert spent == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("profile", "keys", "mbps"),
    [
        ("80211a", "rate_mbps = 54", 54),
        ("80211g", "rate_mbps = 54", 54),
        ("80211n", "mcs = 7", 65),
        ("80211n", "mcs = 15\nwidth_mhz = 40\nguard_ns = 400\nchannel = 48", 300),
        ("80211ac", "mcs = 9\nstreams = 2\nguard_ns = 400", 2600 / 3),
        ("80211ac", "mcs = 8\nstreams = 4", 1404),
        ("80211ac", "mcs = 8\nwidth_mhz = 160", 702),
    ],
)
def test_data_goes_at_its_rate_from_the_start(
    profile: str, keys: str, mbps: float, tmp_path: Path, run_scenario: Run
) -> None:
    """A neighbour's rates are known before its first beacon, and 5 GHz may be used."""
    run_scenario(
        f"""
duration_s = 1
[topology]
kind = "pair"
spacing_m = 50
[radio]
profile = "{profile}"
{keys}
[measure]
frames = true
[[flow]]
source = "n0"
destination = "n1"
"""
    )
    rows = results.load(tmp_path / "run1").rows("frames")
    data = [row for row in rows if row["kind"] == "data" and row["protocol"] == "tcp"]
    assert len(data) > 1000
    assert [row["rate_mbps"] for row in data] == pytest.approx([mbps] * len(data))


def test_frames_tell_their_aggregate_and_its_answer(tmp_path: Path, run_scenario: Run) -> None:
    """The frames of an A-MPDU share its time, and one block ack answers them a SIFS after they have
    come over 50 m."""
    run_scenario(
        """
duration_s = 1
[topology]
kind = "pair"
spacing_m = 50
[radio]
profile = "80211n"
[measure]
frames = true
[[flow]]
source = "n0"
destination = "n1"
protocol = "udp"
rate_kbps = 60_000
"""
    )
    rows = results.load(tmp_path / "run1").rows("frames")
    aggregates: dict[float, list[dict[str, Any]]] = {}
    for row in rows:
        if row["mpdu"] is not None and row["src"] == "n0":
            aggregates.setdefault(row["t_s"], []).append(row)
    later_s = 16e-6 + 167e-9
    answered = {round(row["t_s"] - later_s, 9) for row in rows if row["kind"] == "block-ack"}
    assert max(len(frames) for frames in aggregates.values()) > 16
    for frames in aggregates.values():
        assert [row["mpdu"] for row in frames] == list(range(1, frames[0]["mpdus"] + 1))
        assert {row["category"] for row in frames} == {"best-effort"}
        assert {round(row["until_s"], 9) for row in frames} <= answered


LOSSY_AGGREGATES = """
duration_s = 1
[radio]
profile = "{profile}"
[measure]
frames = true
captures = ["air"]
[[loss]]
rate = 0.2
[[station]]
name = "n0"
[[station]]
name = "n1"
x_m = 10
{cell}
[[flow]]
source = "n0"
destination = "n1"
protocol = "udp"
rate_kbps = 200_000
buffer_bytes = 32768
"""
"""Less than the radio's queue holds. What a full queue refused would leave holes in the sequence
numbers. An A-MPDU over a hole reaches beyond its BlockAck's window."""
CELL = '[[cell]]\naccess_point = "n1"\nclients = ["n0"]\n'


@pytest.mark.parametrize(
    ("profile", "cell", "bitmap_octets"), [("80211n", "", 8), ("80211ax", CELL, 32)]
)
def test_a_capture_has_block_acks_of_the_frames_that_came(
    tmp_path: Path, run_scenario: Run, profile: str, cell: str, bitmap_octets: int
) -> None:
    """Of each A-MPDU its BlockAck names what the table says was delivered, by the sequence numbers
    that the hosts gave (IEEE 802.11-2020 9.3.1.8.2)."""
    run_scenario(LOSSY_AGGREGATES.format(profile=profile, cell=cell))
    rows = results.load(tmp_path / "run1").rows("frames")
    with (tmp_path / "run1" / "captures" / "air.pcapng").open("rb") as file:
        packets = [data for _, data in dpkt.pcapng.Reader(file)]
    frames = [data[int.from_bytes(data[2:4], "little") :] for data in packets]
    assert len(frames) == len(rows)
    wanted: dict[int, bool] = {}
    began_s = 0.0
    checked = Counter[bool]()
    for row, frame in zip(sorted(rows, key=lambda row: row["t_s"]), frames, strict=True):
        if row["kind"] == "data" and row["mpdu"] is not None and row["src"] == "n0":
            if row["t_s"] != began_s:  # one before, of which nothing came, has no BlockAck
                began_s, wanted = row["t_s"], {}
            wanted |= {int.from_bytes(frame[22:24], "little") >> 4: row["fate"] == "delivered"}
        if row["kind"] == "block-ack" and row["src"] == "n1":
            assert frame[0] == 0x94 and len(frame) == 20 + bitmap_octets
            start = int.from_bytes(frame[18:20], "little") >> 4
            bitmap = int.from_bytes(frame[20:], "little")
            for sequence, came in wanted.items():
                place = (sequence - start) % 4096
                covered = place >= 2048 or bool(bitmap >> place & 1)
                assert covered == came
                checked[came] += 1
            wanted = {}
    assert checked[True] > 500 and checked[False] > 100


def test_without_rts_nothing_asks_for_it(tmp_path: Path, run_scenario: Run) -> None:
    """Not even a retry, although the kernel's rate table does (`retry_rules = "standard"`)."""
    loss = '[measure]\nframes = true\n[[loss]]\nkind = "uniform"\nrate = 0.2\n'
    run_scenario(PAIR + loss)
    rows = results.load(tmp_path / "run1").rows("frames")
    assert {row["attempt"] for row in rows} >= {1, 2, 3}
    assert "rts" not in {row["kind"] for row in rows}


def test_bystanders_are_told_only_where_somebody_listens(tmp_path: Path, run_scenario: Run) -> None:
    scenario = """
duration_s = 2
[topology]
kind = "grid"
[[flow]]
source = "n0"
destination = "n1"
window = 8
"""
    run_scenario(scenario)
    run_scenario(scenario + '[routing]\nprotocol = "dsr"\n')
    plain, listening = (account(tmp_path / run)["kernel"] for run in ("run1", "run2"))
    assert plain["deliveries"] <= plain["frames"]
    assert listening["deliveries"] > 1.5 * listening["frames"]


MARKED = """
duration_s = 2
[topology]
kind = "pair"
spacing_m = 50
[radio]
profile = "80211n"
[measure]
frames = true
[[flow]]
name = "transfer"
source = "n0"
destination = "n1"
dscp = 46
window = 4
[[flow]]
name = "counted"
source = "n0"
destination = "n1"
dscp = 8
packets = 50
packet_bytes = 1000
[[flow]]
name = "spaced"
source = "n0"
destination = "n1"
protocol = "udp"
spacing = "random"
rate_kbps = 500
dscp = 34
[[flow]]
name = "datagrams"
source = "n0"
destination = "n1"
protocol = "udp"
rate_kbps = 500
dscp = 10
[[flow]]
name = "requests"
source = "n0"
destination = "n1"
protocol = "rr"
dscp = 40
ip = 6
[[flow]]
name = "echoes"
source = "n0"
destination = "n1"
protocol = "ping"
interval_s = 0.1
dscp = 56
"""

FLOW_OF_PORTS = {
    frozenset({20_001 + number, 5201 + number}): flow
    for number, flow in enumerate(("transfer", "counted", "spaced", "datagrams", "requests"))
}


def test_a_flow_s_code_point_chooses_its_access_category(tmp_path: Path, run_scenario: Run) -> None:
    """By RFC 8325, as the kernel has it: EF voice, AF41 and CS5 video, AF11 best effort, CS1
    background. Acknowledgements and responses are marked alike; Linux answers an echo with its own
    code point."""
    run_scenario(MARKED)
    by_flow: dict[str, set[tuple[str, str]]] = {}
    for row in results.load(tmp_path / "run1").rows("frames"):
        if row["kind"] != "data" or row["protocol"] == "arp":
            continue
        ports = frozenset({row["src_port"], row["dst_port"]})
        flow = "echoes" if row["protocol"] == "icmp" else FLOW_OF_PORTS[ports]
        by_flow.setdefault(flow, set()).add((row["src"], row["category"]))
    both = ("n0", "n1")
    assert by_flow == {
        "transfer": {(end, "voice") for end in both},
        "counted": {(end, "background") for end in both},
        "spaced": {("n0", "video")},
        "datagrams": {("n0", "best-effort")},
        "requests": {(end, "video") for end in both},
        "echoes": {(end, "voice") for end in both},
    }
