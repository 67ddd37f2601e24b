# SPDX-License-Identifier: Apache-2.0
"""What a run did, as traces of others show it."""
