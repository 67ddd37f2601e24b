# SPDX-License-Identifier: Apache-2.0
"""Samplers of sockets, queues and stations."""
