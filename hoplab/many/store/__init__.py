# SPDX-License-Identifier: Apache-2.0
"""Runs by the hash of what they are made of: a finished one is never run again.

A run is repeatable to the byte. Its *key*, SHA-256 over the resolved scenario and the machine,
therefore stands for its tables (`hoplab.many.store.key`). A `Store` is a folder with a file for
each run (`hoplab.many.store.entry`). Several programs may read and write a store at once. If one is
killed, only the entry that it was writing is lost.
"""
