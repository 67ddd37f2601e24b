# SPDX-License-Identifier: Apache-2.0
"""Regressions of throughput, judged over seeds."""

from hoplab import assert_faster, assert_within

CHAIN = {
    "duration_s": 20,
    "topology": {"kind": "chain", "stations": 3},
    "radio": {"profile": "hv99"},
    "routing": {"protocol": "static"},
    "flow": [{"source": "n0", "destination": "n2", "congestion_control": "newreno", "window": 8}],
}
HIDDEN = {
    "duration_s": 5,
    "topology": {"kind": "hidden"},
    "radio": {"carrier_sense_m": 250},
    "flow": [
        {
            "protocol": "udp",
            "source": name,
            "destination": "b",
            "rate_kbps": 2000,
            "packet_bytes": 1400,
        }
        for name in ("a", "c")
    ],
}


def test_cubic_is_no_worse_than_newreno_over_two_hops(lab):
    newreno = lab.sample(CHAIN, seeds=4)
    cubic = lab.sample(CHAIN, seeds=4, set={"flow.0.congestion_control": "cubic"})
    assert_within(newreno, 729, 0.05)  # kbit/s, Holland and Vaidya 1999
    assert_faster(cubic, newreno, by=-0.05)


def test_rts_helps_hidden_senders(lab):
    with_rts = lab.sample(HIDDEN, seeds=3, set={"radio.rts_threshold": 0})
    without = lab.sample(HIDDEN, seeds=3, set={"radio.rts_threshold": 2347})
    assert_faster(with_rts, without, by=0.5)
