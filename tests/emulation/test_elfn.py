# SPDX-License-Identifier: Apache-2.0
"""Stand-by on link failure notices (kernel-modules/elfn): in a guest, with real sockets."""

import json
import subprocess
from typing import Any

import pytest

from hoplab.model.resources import PROJECT


class Answers(dict[str, Any]):
    """What each scene answered. Asking for one that failed fails the test that asks."""

    def __getitem__(self, scene: str) -> Any:
        found = super().__getitem__(scene)
        assert not (isinstance(found, dict) and "failed" in found), found["failed"]
        return found


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What tests/emulation/guest/elfn.py found in one guest."""
    done = subprocess.run(
        [
            str(PROJECT / ".venv" / "bin" / "hoplab"),
            "exec",
            "--",
            str(PROJECT / ".venv" / "bin" / "python"),
            str(PROJECT / "tests" / "emulation" / "guest" / "elfn.py"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("elfn"),
    )
    assert done.returncode == 0, done.stderr
    return Answers(json.loads(done.stdout))


def stands_by(found: dict[str, Any]) -> None:
    """Six seconds without a way: one timer and one segment, and back at once."""
    before, during, after = found["before"], found["during"], found["after"]
    # Probes: at the first timeout (224 ms), then every 500 ms, and the same segment each time.
    assert found["probes"] == 12 and found["probed_first_only"], found
    for key in ("unacked", "rto", "rtt", "ssthresh"):
        assert during[key] == before[key], found
    # Back within a probe interval and two round trips of 20 ms.
    assert found["moved"] and found["moved_s"] < 0.5 + 2 * 0.02 + 0.01, found
    assert after["timeouts"] == 0 and after["ssthresh"] == before["ssthresh"], found
    # The probe that got through, and each of the others once.
    assert found["resent_once"] and 1 < found["resent"] <= before["unacked"], found
    assert found["events"] == ["standby"] + 13 * ["probe"] + ["resume"], found
    assert found["reason"] == "acknowledged" and found["complete"], found


def test_every_variant_stands_by_and_goes_on_as_before(answer: Answers) -> None:
    assert len(answer["variants"]) == 9
    for found in answer["variants"]:
        stands_by(found)
        for key in ("cwnd", "ssthresh", "rto", "rtt"):
            assert found["resumed"][key] == found["before"][key], found


def test_the_studys_other_resumptions(answer: Answers) -> None:
    window, timer = answer["resumptions"]["window-1"], answer["resumptions"]["default-timer"]
    stands_by(window)
    stands_by(timer)
    assert window["resumed"]["cwnd"] == 1
    assert window["resumed"]["rto"] == window["before"]["rto"]
    assert timer["resumed"]["cwnd"] == timer["before"]["cwnd"]
    # RFC 6298 section 2: 1 s until a round trip is measured.
    assert timer["resumed"]["rto"] == 1_000_000


def test_every_other_end_of_standby_gives_the_connection_back(answer: Answers) -> None:
    assert answer["endings"] == {
        "gave-up": ["gave-up", True, True],
        "closed": ["closed"],
        "aborted": ["closed"],
        "user-timeout": ["user-timeout", True],
        "address": ["address", True],
        "switched-off": ["switched-off", True],
        # Another algorithm in mid-stand-by changes nothing of it.
        "algorithm": [1, "westwood", 0, "acknowledged", True],
    }


def test_segments_on_their_way_are_not_sent_again(answer: Answers) -> None:
    assert answer["fates"] == {
        # Any notice begins a stand-by: the route has failed, whatever became of the segment.
        "alone": 1,
        "held_again": False,
        "salvaged_again": False,
        # Not acknowledged for longer than the retransmission timer allows.
        "old_again": True,
        "complete": True,
    }


def test_a_routers_icmp_is_a_notice(answer: Answers) -> None:
    found = answer["icmp"]
    assert found == {"began": True, "ended": True, "timeouts": 0, "kept": True, "complete": True}


def test_namespaces_are_apart(answer: Answers) -> None:
    found = answer["namespaces"]
    assert found["standing"] == 0 and found["complete"]
    assert {k: v for k, v in found["counters"].items() if v} == {"no-connection": 1}


def test_hostile_notices_only_count(answer: Answers) -> None:
    found = answer["hostile"]
    assert found["counted"] >= 1_000_000
    assert found["standing"] == found["standby"] == 0
    assert found["not_in_flight"] > 400_000 and found["no_connection"] > 400_000
    assert found["info"]["timeouts"] == found["info"]["total"] == 0
    assert found["complete"]


def test_many_at_once_and_unloading(answer: Answers) -> None:
    found = answer["many"]
    assert found == {
        "standing": 24,
        "timeouts": 0,
        "ended": True,
        "complete": 24,
        "unloaded_in_use": False,
        "unloaded": True,
    }


def test_the_kernel_has_nothing_to_complain_of(answer: Answers) -> None:
    assert answer["complaints"] == []
