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
        "many": "E2BIG",
        "file": "EINVAL",
        "closed": "EBADF",
        "address": "EFAULT",
        "none": "nothing",
        "command": "ENOTTY",
    }
