# SPDX-License-Identifier: Apache-2.0
"""A page on this host for a run in progress, with the report's figures and map."""
