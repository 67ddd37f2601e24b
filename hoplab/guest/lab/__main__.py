# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.guest.lab FOLDER [--real-time]``."""

import gc
import os
import sys

# By default the collector runs after a number of allocations, and every import allocates. What it
# closes costs readings of the clock. Digests would then depend on code that a run does not use.
# `planned` collects at fixed times.
gc.disable()

from hoplab.guest.system import loading  # noqa: E402 - nothing is allocated before

loading.shorten()


def _lab() -> int:
    # Here, because imports call deeply and need that room too.
    from hoplab.guest.lab.job import main

    return main(sys.argv[1:])


status = loading.with_room(_lab)
sys.stdout.flush()
# All is said and closed; freeing each object would take the interpreter a tenth of a second.
os._exit(status)
