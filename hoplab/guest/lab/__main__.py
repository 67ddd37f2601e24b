# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.guest.lab FOLDER [--real-time]``."""

import gc
import sys

# Else the collector runs after so many allocations, of which every import makes some, and what it
# closes costs readings of the clock: digests would move with code that a run does not use.
# `planned` collects at fixed times.
gc.disable()

from hoplab.guest.lab.job import main  # noqa: E402 - nothing is allocated before

sys.exit(main(sys.argv[1:]))
