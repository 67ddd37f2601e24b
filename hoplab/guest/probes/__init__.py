# SPDX-License-Identifier: Apache-2.0
"""What reads a running network: sockets, queues, packets."""
