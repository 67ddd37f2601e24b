# SPDX-License-Identifier: Apache-2.0
"""Emulation tests with pytest: tests that run in a guest, and runs judged over seeds.

pytest loads `plugin` by itself if Hoplab is installed. It has the marker ``hoplab``, the fixtures
``lab`` and ``network``, and the options. `guest` is its other half, in the guest. `judge` decides
by confidence intervals. docs/pytest.md shows them in use.
"""
