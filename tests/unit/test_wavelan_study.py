# SPDX-License-Identifier: Apache-2.0
"""The wavelan study's fit of a slow host, and where its analysis says that packets were lost."""

import random
import tomllib
from typing import Any

import pytest

from hoplab.many.study import folder
from hoplab.many.study.swept import Run
from hoplab.model.resources import EXPERIMENTS

STUDY = folder.find("wavelan")
ANALYSIS: Any = STUDY.analysis()
FIT = ANALYSIS.fit
FOLDER = EXPERIMENTS / "wavelan"


def overruns(sent_us: float, taken_us: float, frames: int = 200_000) -> float:
    """Share lost at a buffer of so many packets, frame by frame: what the formula stands for."""
    backoff = random.Random(1)
    fixed_us = sent_us - FIT.SLOT_US * FIT.CW_MIN / 2
    waiting_us = lost = 0.0
    for _ in range(frames):
        gap_us = fixed_us + FIT.SLOT_US * backoff.randint(0, FIT.CW_MIN)
        waiting_us = max(0.0, waiting_us - gap_us)
        if waiting_us > FIT.BUFFER_PACKETS * taken_us:
            lost += 1
        else:
            waiting_us += taken_us
    return lost / frames


@pytest.mark.parametrize(("size", "excess"), [(100, 0.002), (100, 0.01), (1500, 0.006)])
def test_the_formula_of_overruns_is_that_of_the_queue(size: int, excess: float) -> None:
    sent_us = FIT.sent_every_us(size)
    taken_us = (1 + excess) * sent_us
    assert FIT.loss(sent_us, taken_us) == pytest.approx(overruns(sent_us, taken_us), rel=0.2)


def test_a_host_that_is_fast_enough_loses_nothing() -> None:
    sent_us = FIT.sent_every_us(1500)
    assert FIT.loss(sent_us, 0.5 * sent_us) == pytest.approx(0, abs=1e-12)
    near = FIT.loss(sent_us, sent_us)
    assert near == pytest.approx(FIT.loss(sent_us, sent_us + 1e-3), rel=0.01) and near > 0


def test_the_slow_host_is_what_the_fit_gives_in_every_scenario() -> None:
    overrun = STUDY.published()["overrun"]
    packet_us, service_mbps = FIT.fit(*zip(overrun["sizes"], overrun["losses"], strict=True))
    scenario = tomllib.loads((FOLDER / "scenario.toml").read_text())
    nic = scenario["station"][1]["nic"]
    assert nic["rx_buffer_packets"] == FIT.BUFFER_PACKETS
    for way in ("tx", "rx"):
        assert nic[f"{way}_packet_us"] == round(packet_us, 1)
        assert nic[f"{way}_service_mbps"] == round(service_mbps, 4)
    sweep = tomllib.loads((FOLDER / "sweep.toml").read_text())
    cases = {case["name"]: case["set"] for case in sweep["axis"][0]["case"]}
    assert cases[5]["station.0.nic"] == nic
    for number, changed in cases.items():
        keys = {key.removeprefix("station.1.nic.") for key in changed if ".1.nic." in key}
        assert keys <= {"tx_ring", "queue_packets"}, number  # the card's; the host's power stays


class Told:
    """Tables of a transfer of four packets of 100 octets in a second, one of which came."""

    def __init__(self, answered: bool = True) -> None:
        self._answered = answered

    def rows(self, name: str) -> list[dict[str, Any]]:
        packet = {"sent_s": 1.0, "received_s": None, "seq": 1, "bytes": 72}
        link = {"frames": 5, "delivered": 4, "deaf": 1, "collided": 0, "weak": 2}
        return {
            "flows": [{"src": "a", "dst": "b", "delivered_bytes": 72, "timeouts": None}],
            "packets": [packet] * 3 + [packet | {"received_s": 2.0}],
            "radios": [
                {"node": "a", "queue_full": 3, "rx_overrun": 0},
                {"node": "b", "queue_full": 0, "rx_overrun": 1},
            ],
            "links": [
                {"src": "a", "dst": "b"} | link,
                *([{"src": "b", "dst": "a"} | link] if self._answered else []),
            ],
        }[name]


def test_a_transfer_tells_where_its_packets_went() -> None:
    one = ANALYSIS.transfer(Run("", {}, 1, Told()))
    assert (one.sent, one.arrived, one.loss) == (4, 1, 0.75)
    assert one.kbps == pytest.approx(0.576)
    assert (one.never_left, one.collided, one.noise, one.overrun) == (3, 1, 2, 1)
    assert (one.back_sent, one.back_arrived, one.back_collided) == (5, 4, 1)


def test_a_receiver_of_datagrams_may_send_nothing_back() -> None:
    one = ANALYSIS.transfer(Run("", {}, 1, Told(answered=False)))
    assert (one.sent, one.collided) == (4, 1)
    assert (one.back_sent, one.back_arrived, one.back_collided) == (0, 0, 0)
