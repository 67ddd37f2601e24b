# SPDX-License-Identifier: Apache-2.0
"""Mininet-WiFi and Hoplab together.

`launch` starts a guest with a script, by the interpreter that `hoplab.front.mininet.found` finds.
What is below `hoplab/guest/mininet/inside` runs there: ``start.py`` prepares and starts the script,
``build.py`` makes the stations of a scenario, ``site`` holds the few hooks into others' code,
``bin`` programs that Mininet-WiFi starts and no distribution has.

A script imports this package, in whatever interpreter has Mininet-WiFi, so what it comes by here
needs the standard library alone:

    from hoplab import record

makes ``addLink(…, proto="dsr")`` and ``proto="split"`` work (`plugins`), and `record` measures the
network that the script has built (`recording`).
"""

from hoplab.front.mininet import plugins
from hoplab.front.mininet.recording import Recording, RecordingFailed, record

__all__ = ["Recording", "RecordingFailed", "record"]

plugins.register()
