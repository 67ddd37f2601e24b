# SPDX-License-Identifier: Apache-2.0
"""Mininet-WiFi's scripts, unchanged, in a guest: rootless, in virtual time, over Hoplab's channel.

`find` says which interpreter has Mininet-WiFi and what is missing; `launch` starts a guest with it.
What is below ``inside`` runs in the guest, by the system's interpreter: ``start.py`` prepares and
starts the script, ``site`` holds the few hooks into others' code, ``bin`` programs that
Mininet-WiFi starts and no distribution has.
"""
