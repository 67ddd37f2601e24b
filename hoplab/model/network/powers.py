# SPDX-License-Identifier: Apache-2.0
"""Powers in dBm: over a distance, of the thresholds and of the noise."""

from __future__ import annotations

import math

from hoplab.model.keys.declare import given
from hoplab.model.keys.radio import Indoor
from hoplab.model.keys.resolved import ResolvedRadio

SPEED_OF_LIGHT_MPS = 299_792_458.0
THERMAL_DBM_PER_MHZ = -113.975
"""Density of thermal noise at 290 K, in dBm/MHz."""
NOISE_FIGURE_DB = 7.0
"""ns-3's assumption."""
NEAREST_M = 0.1
"""Least distance between radios that is assumed."""
ED_ABOVE_CS_DB = 20.0
"""CCA by energy, -62 dBm, over CCA by a preamble, -82 dBm (IEEE 802.11-2020 17.3.10.6)."""
ED_OF_DSSS = (
    (10 * math.log10(100), -80.0),
    (10 * math.log10(50), -76.0),
    (-math.inf, -70.0),
)
"""CCA by energy where a radio sends with more than 100 mW, more than 50 mW, or less."""
INDOOR_N: dict[Indoor, tuple[float, float]] = {
    "itu-residential": (28.0, 28.0),
    "itu-office": (30.0, 31.0),
}
"""Distance power loss coefficients at 2.4 and at 5.2 GHz (ITU-R P.1238-7, table 2)."""
P1238_BETWEEN_MHZ = 4000.0
A_HAIR_DB = 1e-9
"""A threshold is this far below the power at its distance, so that the distance itself is
within."""


def indoor(name: Indoor, frequency_mhz: float) -> tuple[float, float]:
    """Return the exponent of log-distance and its reference distance in m, for a kind of building.

    ITU-R P.1238-7, table 2: the coefficient N at 2.4 and at 5.2 GHz is 28 and 28 in houses, 30 and
    31 in offices. 3GPP TR 38.901, table 7.4.1-1, InH-Office, with d in m and f in GHz, has
    ``32.4 + 17.3 log10 d + 20 log10 f`` with a line of sight. Without one it has ``17.3 + 38.3
    log10 d + 24.9 log10 f``, which is free space's loss at ``10^((15.1 - 4.9 log10 f) / 18.3)`` m.
    """
    if name == "3gpp-inh-nlos":
        return 3.83, 10 ** ((15.1 - 4.9 * math.log10(frequency_mhz / 1000)) / 18.3)
    if name == "3gpp-inh-los":
        return 1.73, 1.0
    low, high = INDOOR_N[name]
    return (low if frequency_mhz < P1238_BETWEEN_MHZ else high) / 10, 1.0


def reception_dbm(radio: ResolvedRadio) -> float:
    """Return the least power of a reception."""
    return _threshold_dbm(radio, radio.range_m, radio.rx_threshold_dbm)


def sensing_dbm(radio: ResolvedRadio) -> float:
    """Return the least power that is sensed."""
    return _threshold_dbm(radio, radio.carrier_sense_m, radio.cs_threshold_dbm)


def energy_dbm(radio: ResolvedRadio) -> float:
    """Return the least energy that makes the channel busy, whatever it is of. For DSSS it depends
    on the radio's own power (IEEE 802.11-2020 16.3.8.5), and is not below carrier sense."""
    sensed_dbm = sensing_dbm(radio)
    if radio.ed_threshold_dbm is not None:
        return radio.ed_threshold_dbm
    if not radio.is_dsss:
        return sensed_dbm + ED_ABOVE_CS_DB
    own = next(dbm for least_dbm, dbm in ED_OF_DSSS if radio.tx_power_dbm > least_dbm)
    return max(sensed_dbm, own)


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
    width_mhz = 22.0 if radio.is_dsss else 20.0
    return THERMAL_DBM_PER_MHZ + 10.0 * math.log10(width_mhz) + NOISE_FIGURE_DB
