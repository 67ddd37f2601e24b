# SPDX-License-Identifier: Apache-2.0
"""Mininet-WiFi and Hoplab together.

`launch` starts a guest with a script, by the interpreter that `hoplab.front.mininet.found` finds.
The files below `hoplab/guest/mininet/inside` run in the guest. ``start.py`` prepares and starts the
script, and ``build.py`` makes the stations of a scenario. ``site`` holds the few hooks into other
people's code. ``bin`` holds programs that Mininet-WiFi starts and no distribution has.

A script imports this package in any interpreter that has Mininet-WiFi. The modules that it imports
therefore need only the standard library:

    from hoplab import record

makes ``addLink(…, proto="dsr")`` and ``proto="split"`` work (`plugins`), and `record` measures the
network that the script has built (`recording`).
"""

from hoplab.front.mininet import plugins
from hoplab.front.mininet.recording import Recording, RecordingFailed, record

__all__ = ["Recording", "RecordingFailed", "record"]

plugins.register()
