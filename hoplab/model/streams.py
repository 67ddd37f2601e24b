# SPDX-License-Identifier: Apache-2.0
"""Randomness: every consumer draws from its own named stream of the scenario's seed."""

from __future__ import annotations

import hashlib
import random

COMMON_SEED = 1
"""For what is built before a run has its own seed."""


def stream_seed(seed: int, name: str) -> int:
    """The first 8 bytes, little-endian, of SHA-256("SEED/NAME")."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def stream(seed: int, name: str) -> random.Random:
    """The generator of one named stream of a scenario's seed."""
    return random.Random(stream_seed(seed, name))
