# SPDX-License-Identifier: Apache-2.0
"""Stations that Mininet-WiFi makes."""
