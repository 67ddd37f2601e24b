# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.guest.lab FOLDER [--real-time]``."""

import sys

from hoplab.guest.lab.job import main

sys.exit(main(sys.argv[1:]))
