# SPDX-License-Identifier: Apache-2.0
"""Powers in dBm: over a distance, of the thresholds and of the noise."""

from __future__ import annotations

import math

from hoplab.model.keys.declare import given
from hoplab.model.keys.resolved import ResolvedRadio

SPEED_OF_LIGHT_MPS = 299_792_458.0
THERMAL_DBM_PER_MHZ = -113.975
"""Density of thermal noise at 290 K, in dBm/MHz."""
NOISE_FIGURE_DB = 7.0
"""ns-3's assumption."""
NEAREST_M = 0.1
"""Least distance between radios that is assumed."""
A_HAIR_DB = 1e-9
"""A threshold is this far below the power at its distance, so that the distance itself is
within."""


def reception_dbm(radio: ResolvedRadio) -> float:
    """Return the least power of a reception."""
    return _threshold_dbm(radio, radio.range_m, radio.rx_threshold_dbm)


def sensing_dbm(radio: ResolvedRadio) -> float:
    """Return the least power that is sensed."""
    return _threshold_dbm(radio, radio.carrier_sense_m, radio.cs_threshold_dbm)


def _threshold_dbm(radio: ResolvedRadio, distance_m: float | None, dbm: float | None) -> float:
    if distance_m is None:
        return given(dbm)
    return received_dbm(radio, distance_m) - A_HAIR_DB


def received_dbm(radio: ResolvedRadio, distance_m: float) -> float:
    """Return the mean power at a distance. The operations are those of the daemon's engine
    (`daemons/medium-core/src/space/propagation.rs`)."""
    d = max(distance_m, NEAREST_M)
    wavelength_m = SPEED_OF_LIGHT_MPS / (radio.frequency_mhz * 1e6)
    gain_dbi = radio.antenna_gain_dbi
    gains = radio.tx_power_dbm + (gain_dbi + gain_dbi)

    def friis_dbm(d: float) -> float:
        return gains + 20.0 * math.log10(wavelength_m / (4.0 * math.pi * d))

    if radio.propagation == "log-distance":
        beyond_db = 10.0 * radio.exponent * math.log10(d / radio.reference_m)
        return friis_dbm(radio.reference_m) - beyond_db
    h = radio.antenna_height_m
    crossover_m = 4.0 * math.pi * h * h / wavelength_m
    if radio.propagation == "friis" or d < crossover_m:
        return friis_dbm(d)
    return gains + 10.0 * math.log10(h * h * h * h / (d * d * d * d))


def noise_dbm(radio: ResolvedRadio) -> float:
    """Return the power of the receiver's noise."""
    if radio.noise_dbm is not None:
        return radio.noise_dbm
    width_mhz = 22.0 if radio.standard in ("802.11", "802.11b") else 20.0
    return THERMAL_DBM_PER_MHZ + 10.0 * math.log10(width_mhz) + NOISE_FIGURE_DB
