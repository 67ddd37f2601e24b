# SPDX-License-Identifier: Apache-2.0
"""The classic profile is classic: settings read back, and behaviour seen in captures."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pexpect
import pytest

from hoplab.guest.tcp import profile as tcp_profile
from hoplab.host import results
from hoplab.many.study.segments import PSH, SYN, Segment, segments
from tests.emulation.conftest import HOPLAB, Run

PROMPT = "hoplab> "
WIRE = """
duration_s = {duration_s}
[tcp]
profile = "classic"
{tcp}
[measure]
captures = ["a"]
[[station]]
name = "a"
radio = false
[[station]]
name = "b"
radio = false
[[link]]
ends = ["a", "b"]
rate_mbps = 2
delay_ms = 5
[[flow]]
source = "a"
destination = "b"
mss = 1000
{flow}
"""
PROPAGATION_S = 0.01


def wire(tcp: str = "", flow: str = "", duration_s: float = 4) -> str:
    return WIRE.format(tcp=tcp, flow=flow, duration_s=duration_s)


@pytest.fixture
def capture(tmp_path: Path, run_scenario: Run) -> Callable[[str], list[Segment]]:
    """Run a scenario; the data connection's segments at the sender."""

    def run(text: str) -> list[Segment]:
        run_scenario(text)
        (folder,) = tmp_path.glob("run*")
        return list(segments(results.load(folder), "a"))

    return run


@pytest.mark.chance
def test_every_setting_reads_back(tmp_path: Path) -> None:
    """In the namespaces of both stations of a running network."""
    file = tmp_path / "wire.toml"
    file.write_text(wire(tcp="min_rto_ms = 1000", flow='congestion_control = "newreno"'))
    wanted = {
        **tcp_profile.CLASSIC,
        "net.ipv4.tcp_sack": "0",
        "net.ipv4.tcp_rto_min_us": "1000000",
    }
    child = pexpect.spawn(str(HOPLAB), ["shell", str(file)], encoding="utf-8", timeout=250)
    child.expect_exact(PROMPT)
    for key, value in wanted.items():
        child.sendline(f"a cat /proc/sys/{key.replace('.', '/')}")
        child.expect_exact(PROMPT)
        answer = str(child.before).replace("\r", "").splitlines()
        assert answer[-1].strip() == value, key
    child.sendline("b cat /proc/sys/net/ipv4/tcp_timestamps")
    child.expect_exact(PROMPT)
    assert str(child.before).replace("\r", "").splitlines()[-1] == "0"
    child.sendline("exit")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()


@pytest.mark.parametrize(
    ("variant", "options"),
    [("newreno", ("mss",)), ("tahoe", ("mss",)), ("sack", ("mss", "sack-permitted"))],
)
def test_handshake_offers_nothing_younger(
    capture: Callable[[str], list[Segment]], variant: str, options: tuple[str, ...]
) -> None:
    """No timestamps, no window scaling, no ECN; SACK where the variant is SACK."""
    seen = capture(wire(flow=f'congestion_control = "{variant}"', duration_s=2))
    handshake = [segment for segment in seen if segment.flags & SYN]
    assert len(handshake) == 2
    assert all(segment.options == options for segment in handshake)
    assert all(segment.flags & 0xC0 == 0 for segment in handshake)  # ECE, CWR: RFC 3168 §6.1.1
    assert {segment.ecn for segment in seen} == {0}
    assert not {option for segment in seen for option in segment.options} & {"timestamps"}


@pytest.mark.parametrize(("tcp", "first_burst"), [("", 1), ("initial_window = 4", 4)])
def test_initial_window(
    capture: Callable[[str], list[Segment]], tcp: str, first_burst: int
) -> None:
    """As many segments leave before the first acknowledgement."""
    seen = capture(wire(tcp=tcp, flow='congestion_control = "newreno"', duration_s=2))
    burst = 0
    for segment in seen:
        if segment.outbound and segment.payload > 100:
            burst += 1
        elif not segment.outbound and burst:
            break
    assert burst == first_burst


def steps(seen: list[Segment]) -> list[tuple[int, int]]:
    """(new bytes, acknowledgement number) of each acknowledgement from 1 s to the stop."""
    numbers = [s.acknowledges for s in seen if not s.outbound and 1 < s.time_s < 3.9]
    return [(b - a, b) for a, b in pairwise(numbers) if b != a]


def test_delayed_acknowledgement(capture: Callable[[str], list[Segment]]) -> None:
    """One for two full segments (RFC 1122 §4.2.3.2).

    Linux answers at once when a reader has emptied the socket and the last segment said PSH
    (tcp_cleanup_rbuf). So it acknowledges a single segment alone only after such a one.
    """
    seen = capture(wire(flow="window = 8"))
    pushed = {s.sequence + s.payload for s in seen if s.outbound and s.flags & PSH}
    answers = steps(seen)
    assert {step for step, _ in answers} <= {1000, 2000}
    assert all(number in pushed for step, number in answers if step == 1000)
    assert sum(1 for step, _ in answers if step == 2000) > 0.8 * len(answers)


def test_no_delayed_acknowledgement(capture: Callable[[str], list[Segment]]) -> None:
    seen = capture(wire(tcp="delayed_ack = false", flow="window = 8"))
    assert {step for step, _ in steps(seen)} == {1000}


@pytest.mark.parametrize(("tcp", "minimum_s"), [("", 0.2), ("min_rto_ms = 1000", 1.0)])
def test_minimum_retransmission_timeout(
    capture: Callable[[str], list[Segment]], tcp: str, minimum_s: float
) -> None:
    """A whole window is lost; its first segment comes again after SRTT + the minimum.

    Linux bounds the variance term of RFC 6298 (2.3), not the sum, and the timer restarts at the
    last acknowledgement. SRTT is at most propagation, four segments of 4.3 ms in the queue and
    the 40 ms of a delayed acknowledgement.
    """
    lost = '[[loss]]\nkind = "list"\nsrc = "a"\ndst = "b"\nframes = [41, 42, 43, 44]'
    flow = f'congestion_control = "newreno"\nwindow = 4\n{lost}'
    seen = capture(wire(tcp=tcp, flow=flow))
    data = [segment for segment in seen if segment.outbound and segment.payload > 100]
    again = next(b for a, b in pairwise(data) if b.sequence < a.sequence)
    answered_s = max(s.time_s for s in seen if not s.outbound and s.time_s < again.time_s)
    assert minimum_s < again.time_s - answered_s < minimum_s + PROPAGATION_S + 4 * 0.0043 + 0.04
