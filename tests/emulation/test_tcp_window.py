# SPDX-License-Identifier: Apache-2.0
"""The fixed window of a Split-TCP source stays what it is, whatever is lost."""

from collections.abc import Callable
from typing import Any

from hoplab.host import results
from tests.scenarios import TWO_HOPS

BREAK = f"""
duration_s = 8
{TWO_HOPS}congestion_control = "window"
window = 12
[[loss]]
rate = 0.3
[[event]]
kind = "down"
at_s = 2
station = "n1"
[[event]]
kind = "up"
at_s = 4
station = "n1"
"""


def test_the_window_stays(run_scenario: Callable[..., dict[str, Any]], tmp_path: Any) -> None:
    """Through losses and timeouts; the timer itself is the kernel's, and backs off."""
    run_scenario(BREAK, "--seed", "1")
    rows = results.load(tmp_path / "run1").rows("tcp")
    assert {row["cwnd"] for row in rows} == {12}
    assert {row["ssthresh"] for row in rows} == {12}
    assert rows[-1]["timeouts"] >= 2
    assert max(row["backoff"] for row in rows) >= 1
    assert {"Open", "Loss", "Recovery"} <= {row["ca_state"] for row in rows}
    # After the break it goes on, and what was lost in it comes at once, not one a round trip.
    assert rows[-1]["delivered_bytes"] > 2 * rows[19]["delivered_bytes"]
