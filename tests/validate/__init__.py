# SPDX-License-Identifier: Apache-2.0
"""Figures of theory and publications, measured: ``make validate [ONLY=medium]``."""
