# SPDX-License-Identifier: Apache-2.0
"""Probes of a running network: sockets, queues, packets."""
