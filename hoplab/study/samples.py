# SPDX-License-Identifier: Apache-2.0
"""What studies use of `hoplab.results.samples`."""

from hoplab.results.samples import Sample, combined, difference, jain, relative, t_95

__all__ = ["Sample", "combined", "difference", "jain", "relative", "t_95"]
