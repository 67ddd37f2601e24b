# SPDX-License-Identifier: Apache-2.0
"""A run while it goes on: a page on this host, with the report's figures and map."""
