# SPDX-License-Identifier: Apache-2.0
"""Runs by the hash of what they are made of: a finished one is never run again.

A run is repeatable to the byte, so its *key*, SHA-256 over the resolved scenario and the machine,
stands for its tables, whoever made them (`hoplab.many.store.key`). A `Store` is a folder with a
file a run (`hoplab.many.store.entry`); several programs may read and write one at once, and being
killed at any instant costs the entry that was being written and nothing else.
"""
