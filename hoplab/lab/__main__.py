# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.lab FOLDER [--real-time]``."""

import sys

from hoplab.lab.job import main

sys.exit(main(sys.argv[1:]))
