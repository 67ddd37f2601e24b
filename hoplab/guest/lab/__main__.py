# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.guest.lab FOLDER [--real-time]``."""

import gc
import sys

# By default the collector runs after a number of allocations, and every import allocates. What it
# closes costs readings of the clock. Digests would then depend on code that a run does not use.
# `planned` collects at fixed times.
gc.disable()

from hoplab.guest.lab.job import main  # noqa: E402 - nothing is allocated before

sys.exit(main(sys.argv[1:]))
