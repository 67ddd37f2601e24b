# SPDX-License-Identifier: Apache-2.0
"""Speed, as ratios within one run: ``make bench``."""
