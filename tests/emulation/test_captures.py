# SPDX-License-Identifier: Apache-2.0
"""Captures of the air, as Wireshark's dissectors read them."""

import math
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from hoplab.host import results
from tests.emulation.conftest import Run
from tests.emulation.test_power_save import PHONES
from tests.validate import bsrp, mu_mimo, multilink, ofdma

BROADCAST = "ff:ff:ff:ff:ff:ff"
DATA, PS_POLL = "wlan.fc.type_subtype == 0x28", "wlan.fc.type_subtype == 0x1a"
TRIGGER, BLOCK_ACK = "wlan.fc.type_subtype == 0x12", "wlan.fc.type_subtype == 0x19"
REQUEST = "wlan.fc.type_subtype == 0x18"
ANNOUNCEMENT, REPORT_POLL = "wlan.fc.type_subtype == 0x15", "wlan.fc.type_subtype == 0x14"
REPORT, NULL_DATA = "wlan.fc.type_subtype == 0x0e", "radiotap.0_len_psdu.type == 0"
SOUNDED = {
    "VHT": (
        "wlan.vht_ndp.token.number",
        "wlan.vht_ndp.sta_info.aid12",
        "wlan.vht_ndp.sta_info.nc_index",
    ),
    "HE": ("wlan.he_ndp.token.number", "wlan.he_ndp.sta_info.aid11", "wlan.he_ndp.sta_info.nc"),
}
REPORTED = {
    "VHT": ("sounding_dialog_tocken_nbr", "ncindex", "nrindex", "feedbacktype"),
    "HE": ("sounding_dialog_token_num", "nc_index", "nr_index", "feedback_type"),
}
HE_MU, HE_TRIG = 2, 3
"""PPDU formats of radiotap's HE field."""
STATIONS, UNITS = 4, [61, 62, 63, 64]
"""Those of 242 tones on 80 MHz (802.11ax-2021 9.3.1.22.1)."""


def dissected(run: Path, shown: str, *names: str) -> list[list[str]]:
    """Return fields of the frames that a display filter shows. Commas join values of one frame."""
    wanted = [part for name in names for part in ("-e", name)]
    tshark = ["tshark", "-n", "-r", str(run / "captures" / "air.pcapng"), "-Y", shown]
    done = subprocess.run(
        [*tshark, "-T", "fields", "-E", "separator=;", *wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split(";") for line in done.stdout.splitlines()]


def assert_whole(run: Path) -> None:
    """No frame is too short or too long for its fields, or else against the rules."""
    faults = "_ws.malformed || _ws.short || _ws.expert.severity == error"
    assert dissected(run, faults, "frame.number", "_ws.col.Info", "_ws.expert.message") == []


def numbers(values: str) -> list[int]:
    return [int(value, 0) for value in values.split(",") if value]


def captured(run_scenario: Run, tmp_path: Path, scenario: dict[str, Any]) -> Path:
    scenario["measure"] |= {"frames": True, "captures": ["air"]}
    run_scenario(tomli_w.dumps(scenario))
    assert_whole(tmp_path / "run1")
    return tmp_path / "run1"


def sequences(run: Path, sender: str) -> dict[str, list[tuple[float, set[int]]]]:
    """Return the sequence numbers in each A-MPDU to several users, or by a trigger, with its time.
    They are by station: its ``sender`` (`wlan.ta`) or receiver (`wlan.ra`)."""
    of_users = f"{DATA} && radiotap.he.data_1.ppdu_format >= {HE_MU}"
    names = ("frame.time_epoch", sender, "radiotap.ampdu.reference", "wlan.seq")
    found: dict[str, dict[str, tuple[float, set[int]]]] = defaultdict(dict)
    for time_s, station, ampdu, number in dissected(run, of_users, *names):
        found[station].setdefault(ampdu, (float(time_s), set()))[1].add(int(number))
    return {station: list(ampdus.values()) for station, ampdus in found.items()}


def received(start: int, octets: str) -> set[int]:
    """Return the sequence numbers that a BlockAck's bitmap has."""
    bits = int.from_bytes(bytes.fromhex(octets.replace(":", "")), "little")
    return {(start + at) % 4096 for at in range(bits.bit_length()) if bits >> at & 1}


def length(lasts_s: float) -> int:
    """Return what the L-SIG of an HE PPDU by a trigger says (802.11ax-2021 27.3.11.5)."""
    return 3 * math.ceil(round(1e6 * lasts_s - 20, 3) / 4) - 3 - 2


def test_a_capture_has_the_trigger_that_asks_for_block_acks(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Its users have the units of the data before it, and answer on them."""
    scenario = ofdma.scenario(ofdma.Case(STATIONS, 234, "mu-bar")) | {"duration_s": 0.6}
    run = captured(run_scenario, tmp_path, scenario)
    he = ("wlan.ra", "radiotap.he.data_4.sta_id_user", "radiotap.he.data_2.ru_allocation_offset")
    he_mu = ("radiotap.he_mu.chan1_rus_0_index", "radiotap.he_mu.chan2_rus_1_index")
    to_several = f"{DATA} && radiotap.he.data_1.ppdu_format == {HE_MU}"
    units = Counter(map(tuple, dissected(run, to_several, "frame.time_epoch", *he, *he_mu)))
    assert {(first, second) for *_, first, second in units} == {("192", "192")}
    association = {station: int(number, 0) for _, station, number, *_ in units}
    assert sorted(association.values()) == [1, 2, 3, 4]
    rows = results.load(run).rows("frames")
    asked = {row["t_s"] for row in rows if row["kind"] == "block-ack-request"}
    keys = ("trigger_type", "user_info.aid12", "ru_allocation", "mcs", "ul_length")
    of_trigger = [f"wlan.trigger.he.{key}" for key in keys]
    triggers = dissected(run, TRIGGER, "frame.time_epoch", "wlan.ra", *of_trigger)
    assert len(triggers) == len(asked) > 100
    answers = dissected(
        run,
        f"{BLOCK_ACK} && radiotap.he.data_1.ppdu_format == {HE_TRIG}",
        *("frame.time_epoch", "wlan.ta", "radiotap.he.data_2.ru_allocation_offset"),
        *("wlan.fixed.ssc.sequence", "wlan.ba.bm"),
    )
    (lasts_s,) = {
        round(row["until_s"] - row["t_s"], 9)
        for row in rows
        if row["kind"] == "block-ack" and row["src"] != "ap" and row["t_s"] > min(asked)
    }
    for _, to, kind, ids, allocations, mcs, said in triggers:
        assert (to, kind) == (BROADCAST, "2")
        assert numbers(allocations) == UNITS and sorted(numbers(ids)) == [1, 2, 3, 4]
        assert numbers(mcs) == [3] * STATIONS and int(said) == length(lasts_s)
    sent = sequences(run, "wlan.ra")
    for time_s, station, unit, start, bitmap in answers:
        before = [trigger for trigger in triggers if float(trigger[0]) < float(time_s)]
        assert numbers(before[-1][3])[int(unit, 0)] == association[station]
        ampdu = [seen for at_s, seen in sent[station] if at_s < float(time_s)][-1]
        assert received(int(start), bitmap) >= ampdu
    assert len(answers) == STATIONS * len(triggers)


def test_a_capture_has_the_trigger_that_asks_for_frames(tmp_path: Path, run_scenario: Run) -> None:
    """One BlockAck tells each station of its own frames."""
    case = ofdma.Case(STATIONS, 234, "mu-bar", uplink=True)
    run = captured(run_scenario, tmp_path, ofdma.scenario(case) | {"duration_s": 0.8})
    rows = results.load(run).rows("frames")
    asked = {row["t_s"] for row in rows if row["kind"] == "trigger"}
    keys = ("trigger_type", "cs_required", "user_info.aid12", "ru_allocation", "ul_length")
    of_trigger = [f"wlan.trigger.he.{key}" for key in keys]
    triggers = dissected(run, TRIGGER, "frame.time_epoch", "wlan.ra", *of_trigger)
    assert len(triggers) == len(asked) > 50
    lasts_s = {
        round(row["until_s"] - row["t_s"], 9)
        for row in rows
        if row["kind"] == "data" and row["rate_mbps"] == pytest.approx(1170 / 14.4)
    }
    whole = [trigger for trigger in triggers if numbers(trigger[5]) == UNITS]
    assert len(whole) > 0.9 * len(triggers)
    assert {(to, kind, sense) for _, to, kind, sense, *_ in triggers} == {(BROADCAST, "0", "1")}
    assert {int(said) for *_, said in whole} == {length(one_s) for one_s in lasts_s}
    sent = sequences(run, "wlan.ta")
    names = ("frame.time_epoch", "wlan.ba.multi_sta.aid11", "wlan.fixed.ssc.sequence", "wlan.ba.bm")
    acks = dissected(run, "wlan.ba.control.ba_type == 11", *names)
    answers = Counter(
        row["t_s"] for row in rows if row["kind"] == "block-ack" and row["src"] == "ap"
    )
    assert len(acks) == sum(users > 1 for users in answers.values()) > 50
    # A station may answer with a request for a BlockAck that it lost.
    by_trigger = f"{REQUEST} && radiotap.he.data_1.ppdu_format == {HE_TRIG}"
    requests = [float(time_s) for (time_s,) in dissected(run, by_trigger, "frame.time_epoch")]
    assert len(requests) < STATIONS
    for time_s, ids, starts, bitmaps in acks:
        before = [trigger for trigger in triggers if float(trigger[0]) < float(time_s)]
        assert sorted(numbers(ids)) == sorted(numbers(before[-1][4]))
        # Without a loss each station finds its A-MPDU in one of the bitmaps.
        told = zip(numbers(starts), bitmaps.split(","), strict=True)
        all_told = [received(start, bitmap) for start, bitmap in told]
        begun_s, ended_s = float(before[-1][0]), float(time_s)
        ampdus = [ampdu for of_one in sent.values() for ampdu in of_one]
        came = [seen for at_s, seen in ampdus if begun_s < at_s < ended_s]
        others = [at_s for at_s in requests if begun_s < at_s < ended_s]
        assert len(came) + len(others) == len(all_told)
        assert all(any(seen <= told for told in all_told) for seen in came)


def test_a_capture_has_polls_of_queues(tmp_path: Path, run_scenario: Run) -> None:
    """Stations answer by QoS Null frames, whose BSR Control field says what waits: nothing here."""
    scenario = bsrp.quiet(bsrp.Poll(STATIONS, 234)) | {"duration_s": 1.0}
    run = captured(run_scenario, tmp_path, scenario)
    rows = results.load(run).rows("frames")
    answers = [row for row in rows if row["kind"] == "buffer-status"]
    names = ("wlan.qos.ack", "wlan.htc.he.a_control.bsr.queue_size_all")
    null = f"wlan.fc.type_subtype == 0x2c && radiotap.he.data_1.ppdu_format == {HE_TRIG}"
    told = dissected(run, null, *names)
    assert len(told) == len(answers) > 100
    assert {(int(policy, 0), int(size, 0)) for policy, size in told} == {(1, 0)}
    polls = dissected(run, f"{TRIGGER} && wlan.trigger.he.trigger_type == 4", "wlan.ra")
    asked = Counter(row["t_s"] for row in rows if row["kind"] == "trigger")
    assert len(polls) == len(asked) and [BROADCAST] in polls


def test_a_capture_of_several_links_has_each_on_its_channel(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Frames of 802.11be, whose fields stand in radiotap's TLVs 33 and 34. Table `frames` names the
    link of the same frames."""
    run = captured(run_scenario, tmp_path, multilink.scenario((80, 20)) | {"duration_s": 0.8})
    eht = f"{DATA} && radiotap.present.tlv == 1"
    found = Counter(mhz for (mhz,) in dissected(run, eht, "radiotap.channel.freq"))
    rows = results.load(run).rows("frames")
    links = Counter(row["link"] for row in rows if row["rate_mbps"] > 100 and row["kind"] == "data")
    assert found == {"5180": links[0], "5745": links[1]}
    assert links[0] > 3 * links[1] > 1000
    acks = dissected(run, BLOCK_ACK, "radiotap.channel.freq")
    assert Counter(mhz for (mhz,) in acks).keys() == {"5180", "5745"}


@pytest.mark.parametrize(
    ("way", "profile"), [("ps-poll", "80211g"), ("u-apsd", "80211n"), ("twt", "80211ax")]
)
def test_a_capture_has_what_clients_that_doze_ask(
    way: str, profile: str, run_scenario: Run, tmp_path: Path
) -> None:
    text = PHONES.format(way=way, profile=profile).replace("duration_s = 10", "duration_s = 4")
    run_scenario(text + 'captures = ["air"]\n')
    run = tmp_path / "run1"
    assert_whole(run)
    if way == "ps-poll":
        polls = {tuple(poll) for poll in dissected(run, PS_POLL, "wlan.ta", "wlan.aid")}
        assert {(int(number, 0)) for _, number in polls} == {1, 2}
        assert len(polls) == 2
        return
    # The access point's last frame of each period says so.
    ends = dissected(run, "wlan.fc.fromds == 1 && wlan.qos.eosp == 1", "wlan.ra")
    assert len({station for (station,) in ends}) == 2
    dozing = "wlan.fc.tods == 1 && wlan.fc.type == 2 && wlan.fc.pwrmgt == 0"
    assert dissected(run, dozing, "frame.number") == []


def test_a_capture_gives_users_of_mu_mimo_streams_of_their_own(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Four stations answer on the whole 20 MHz, with four long training fields for all."""
    case = mu_mimo.Case("HE", STATIONS, "mu-bar", uplink=True)
    run = captured(run_scenario, tmp_path, ofdma.scenario(case) | {"duration_s": 0.8})
    keys = ("ru_allocation", "ru_starting_spatial_stream", "num_he_ltf_syms_and_midamble_per")
    of_trigger = [f"wlan.trigger.he.{key}" for key in keys]
    basic = f"{TRIGGER} && wlan.trigger.he.trigger_type == 0"
    triggers = [list(map(numbers, one)) for one in dissected(run, basic, *of_trigger)]
    whole = [one for one in triggers if len(one[0]) == STATIONS]
    assert len(whole) > 0.8 * len(triggers) > 20
    assert all(one == [[61] * STATIONS, [0, 1, 2, 3], [2]] for one in whole)
    together = f"{DATA} && radiotap.he.data_1.ppdu_format == {HE_TRIG}"
    widths = {
        unit for (unit,) in dissected(run, together, "radiotap.he.data_5.data_bw_ru_allocation")
    }
    assert widths == {"0x0000"}


@pytest.mark.parametrize(("kind", "ack"), [("VHT", "sequential"), ("HE", "mu-bar")])
def test_a_capture_has_what_sounds_channels(
    kind: str, ack: str, tmp_path: Path, run_scenario: Run
) -> None:
    """An announcement names the stations, a null data packet has no frame, and each report repeats
    the announcement's token. All are as long as the medium counts them, less their FCS."""
    scenario = ofdma.scenario(mu_mimo.Case(kind, STATIONS, ack)) | {"duration_s": 0.6}
    run = captured(run_scenario, tmp_path, scenario)
    rows = [row for row in results.load(run).rows("frames") if row["kind"] == "sounding"]
    names = ("frame.time_epoch", "radiotap.length", "frame.len", *SOUNDED[kind])
    announced = dissected(run, ANNOUNCEMENT, *names)
    named = [one for one in announced if len(numbers(one[4])) == STATIONS]
    assert len(named) > 20
    for _, _, _, _, ids, columns in named:
        assert sorted(numbers(ids)) == [1, 2, 3, 4] and numbers(columns) == [0] * STATIONS
    prefix = "wlan.vht.mimo_control" if kind == "VHT" else "wlan.he.mimo"
    of_report = [f"{prefix}.{name}" for name in REPORTED[kind]]
    reports = dissected(run, REPORT, *names[:3], *of_report)
    for time_s, _, _, token, columns, antennas, feedback in reports:
        before = [one for one in announced if float(one[0]) < float(time_s)]
        assert int(token, 0) == int(before[-1][3], 0)
        # One stream of four antennas, for several users.
        assert [int(one, 0) for one in (columns, antennas, feedback)] == [0, 3, 1]
    lasting = {row["t_s"] for row in rows if row["bytes"] == 0}
    assert len(dissected(run, NULL_DATA, "frame.number")) == len(lasting) >= len(announced)
    polls = dissected(run, REPORT_POLL, *names[:3])
    asked = f"{TRIGGER} && wlan.trigger.he.trigger_type == 1"
    triggers = dissected(run, asked, *names[:3])
    assert bool(polls) == (kind == "VHT") and bool(triggers) == (kind == "HE")
    octets = Counter(
        int(whole) - int(header) + 4
        for _, header, whole, *_ in (*announced, *polls, *triggers, *reports)
    )
    # A row is of one station, a frame of all that it is for.
    frames = {(row["t_s"], row["src"], row["bytes"]) for row in rows if row["bytes"] > 0}
    assert octets == Counter(size for _, _, size in frames)
