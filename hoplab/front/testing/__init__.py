# SPDX-License-Identifier: Apache-2.0
"""Emulation tests with pytest: tests that run in a guest, runs judged over seeds.

`plugin` is what pytest loads by itself where Hoplab is installed: the marker ``hoplab``, the
fixtures ``lab`` and ``network``, the options. `guest` is its other half, in the guest. `judge`
decides by confidence intervals. docs/pytest.md shows them in use.
"""
