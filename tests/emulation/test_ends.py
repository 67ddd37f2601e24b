# SPDX-License-Identifier: Apache-2.0
"""The call that reads sockets, beside sock_diag in the same guest."""

from pathlib import Path

from tests.emulation.conftest import in_guest


def test_the_call_says_what_sock_diag_says(tmp_path: Path) -> None:
    """Of connections of IPv4, of IPv6 and by mapped addresses, with and without an estimate; of one
    that has ended, and of none. What is no list of ends is refused."""
    answer = in_guest(tmp_path, "ends.py")
    assert answer["by_call"] == answer["by_diag"]
    *going, ended, none = answer["by_call"]
    assert ended == none == [None, None]
    senders, receivers = zip(*going, strict=True)
    assert [sender["estimate_kbps"] is not None for sender in senders] == [True, False, True, False]
    for sender, receiver in zip(senders, receivers, strict=True):
        assert sender["bytes_acked"] > 300_000 and receiver["bytes_received"] > 300_000
        assert sender["unacked"] > 0 and sender["total_retrans"] > 0
        assert sender["marked"] == 0
    assert answer["again"]
    assert answer["refusals"] == {
        "ends": "E2BIG",
        "samples": "E2BIG",
        "both": "E2BIG",
        "file": "EINVAL",
        "closed": "EBADF",
        "address": "EFAULT",
        "none": "nothing",
        "command": "ENOTTY",
    }


def test_the_kernel_takes_samples_while_its_caller_sleeps(tmp_path: Path) -> None:
    """Each at its time; what is overdue, at once. The call returns when a child has ended, and goes
    on after a signal."""
    answer = in_guest(tmp_path, "ends.py")
    (whole,) = answer["asleep"]
    assert 45_000_000 <= whole["ns"] < 45_100_000
    acked = [sender["bytes_acked"] for ((sender, _),) in whole["samples"]]
    assert len(acked) == 10 and acked == sorted(acked) and acked[0] < acked[-1]
    (late,) = answer["late"]
    assert late["samples"] == [answer["last"]] * 10
    (nobody,) = answer["nobody"]
    assert nobody["samples"] == [[]] * 10
    ending = answer["disturbed"]["ending"]
    assert [len(part["samples"]) for part in ending] == [6, 1, 1, 1, 1]
    assert 500_000_000 <= ending[0]["ns"] < 500_100_000
    assert answer["disturbed"]["signals"] == 4
    interrupted = answer["disturbed"]["interrupted"]
    assert sum(len(part["samples"]) for part in interrupted) == 10
    assert 900_000_000 <= interrupted[-1]["ns"] < 900_100_000
