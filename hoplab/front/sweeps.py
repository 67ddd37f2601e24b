# SPDX-License-Identifier: Apache-2.0
"""``hoplab.sweep``: `hoplab.many.sweep` with movement that Mininet-WiFi computes."""

from __future__ import annotations

from functools import partial

from hoplab.front.mininet.movement import walk
from hoplab.many.sweep import api
from hoplab.many.sweep.api import *  # noqa: F403
from hoplab.many.sweep.api import __all__ as __all__

point = partial(api.point, walk=walk)
read = partial(api.read, walk=walk)
