# SPDX-License-Identifier: Apache-2.0
"""Stand-by on link failure notices (kernel-modules/elfn): in a guest, with real sockets."""

from typing import Any

import pytest

from tests.emulation.conftest import in_guest


class Answers(dict[str, Any]):
    """What each scene answered. Asking for one that failed fails the test that asks."""

    def __getitem__(self, scene: str) -> Any:
        found = super().__getitem__(scene)
        assert not (isinstance(found, dict) and "failed" in found), found["failed"]
        return found


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What tests/emulation/guest/elfn.py found in one guest."""
    return Answers(in_guest(tmp_path_factory.mktemp("elfn"), "elfn.py"))


VARIANTS = (
    "reno",
    "reno-plain",
    "cubic",
    "vegas",
    "westwood",
    "bbr",
    "tahoe",
    "reno_classic",
    "tcpw",
)
RESUMPTIONS = ("window-1", "default-timer")


@pytest.fixture(params=[*VARIANTS, *RESUMPTIONS])
def found(request: pytest.FixtureRequest, answer: Answers) -> Any:
    """A connection, six seconds without a way, and what came then."""
    return answer[request.param]


def test_one_segment_probes_at_the_first_timeout_and_every_interval(found: Any) -> None:
    # After 224 ms, then every 500 ms.
    assert found["probes"] == 12 and found["probed_first_only"], found


@pytest.mark.parametrize("key", ["unacked", "rto", "rtt", "ssthresh"])
def test_standby_keeps(found: Any, key: str) -> None:
    assert found["during"][key] == found["before"][key]


def test_a_connection_is_back_within_a_probe_interval_and_two_round_trips(found: Any) -> None:
    assert found["moved"] and found["moved_s"] < 0.5 + 2 * 0.02 + 0.01, found


def test_a_break_is_no_loss(found: Any) -> None:
    before, after = found["before"], found["after"]
    assert after["timeouts"] == 0 and after["ssthresh"] == before["ssthresh"], found


def test_the_probe_that_got_through_and_the_others_are_sent_again_once(found: Any) -> None:
    assert found["resent_once"] and 1 < found["resent"] <= found["before"]["unacked"], found


def test_events_say_what_happened(found: Any) -> None:
    assert found["events"] == ["standby"] + 13 * ["probe"] + ["resume"]


def test_an_acknowledgement_ends_standby_and_all_arrives(found: Any) -> None:
    assert found["reason"] == "acknowledged" and found["complete"], found


@pytest.mark.parametrize("key", ["cwnd", "ssthresh", "rto", "rtt"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_goes_on_as_before(answer: Answers, variant: str, key: str) -> None:
    assert answer[variant]["resumed"][key] == answer[variant]["before"][key]


def test_a_connection_can_go_on_with_a_window_of_one(answer: Answers) -> None:
    found = answer["window-1"]
    assert found["resumed"]["cwnd"] == 1
    assert found["resumed"]["rto"] == found["before"]["rto"]


def test_a_connection_can_go_on_with_the_default_timer(answer: Answers) -> None:
    found = answer["default-timer"]
    assert found["resumed"]["cwnd"] == found["before"]["cwnd"]
    # RFC 6298 section 2: 1 s until a round trip is measured.
    assert found["resumed"]["rto"] == 1_000_000


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("gave-up", ["gave-up", True, True]),
        ("closed", ["closed"]),
        ("aborted", ["closed"]),
        ("user-timeout", ["user-timeout", True]),
        ("address", ["address", True]),
        ("switched-off", ["switched-off", True]),
        # Another algorithm in mid-stand-by changes nothing of it.
        ("algorithm", [1, "westwood", 0, "acknowledged", True]),
    ],
)
def test_every_other_end_of_standby_gives_the_connection_back(
    answer: Answers, ending: str, expected: list[Any]
) -> None:
    assert answer[ending] == expected


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


def test_a_copy_that_came_late_is_no_reordering_after_the_next_stand_by(answer: Answers) -> None:
    # tcp_check_reno_reordering(): without SACK, a duplicate with one segment in flight makes it 1.
    assert answer["late-copy"] == {"degrees": [3, 1, 3], "complete": True}


def test_a_routers_icmp_is_a_notice(answer: Answers) -> None:
    found = answer["icmp"]
    assert found == {"began": True, "ended": True, "timeouts": 0, "kept": True, "complete": True}


def test_a_failed_route_is_a_notice_for_all_connections_to_its_end(answer: Answers) -> None:
    assert answer["destination"] == {
        # Of a destination without connections, of two that sent and of one that did not.
        "counted": {"no-connection": 1, "standby": 2, "not-in-flight": 1},
        # Acknowledgements that were on their way, until one covered all that was in flight.
        "early": True,
        "reasons": [["acknowledged", 0]] * 3,
        "standing": 2,
        "hastened": ["probe", "probe"],
        "ended": True,
        "timeouts": [0, 0],
        "complete": [True] * 3,
    }


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


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("standing", 24),
        ("timeouts", 0),
        ("ended", True),
        ("complete", 24),
        ("unloaded_in_use", False),
        ("unloaded", True),
    ],
)
def test_many_at_once_and_unloading(answer: Answers, key: str, expected: int) -> None:
    assert answer["many"][key] == expected


def test_the_kernel_has_nothing_to_complain_of(answer: Answers) -> None:
    assert answer["complaints"] == []
