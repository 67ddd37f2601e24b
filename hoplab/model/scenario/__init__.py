# SPDX-License-Identifier: Apache-2.0
"""The description of a run: the scenario's model, its file, its resolution, profiles and
movement."""
