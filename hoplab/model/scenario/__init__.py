# SPDX-License-Identifier: Apache-2.0
"""What a run is: the scenario's model, its file, its resolution, profiles and movement."""
