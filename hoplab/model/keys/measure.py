# SPDX-License-Identifier: Apache-2.0
"""The keys of `[measure]`, and the seed: the keys that the lab and the medium daemon share."""

from __future__ import annotations

from hoplab.model.keys.declare import Integer, Number, Switch, Table, Text, key


class Seeded(Table):
    """Whatever draws random numbers."""

    seed: Integer = key(1, "the only source of randomness", ge=0, le=2**63 - 1)


class Recorded(Table):
    """What the medium records beside the tables that it always writes."""

    interval_s: Number = key(0.1, "between samples", unit="s", ge=0.001, le=60)
    frames: Switch = key(False, "every frame on the air with its fate")


class Measure(Recorded):
    """What is recorded beside the tables that every run has."""

    packets: Switch = key(
        False, "exact one-way delay of every packet of flows, and of programs with `measure`"
    )
    captures: tuple[Text, ...] = key(
        (), '`"n1"` (all interfaces), `"n1:wlan0"`, `"air"` (the channel): pcapng for Wireshark'
    )
