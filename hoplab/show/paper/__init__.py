# SPDX-License-Identifier: Apache-2.0
"""Figures for papers: SVG, PDF and PNG of runs and sweeps, drawn by matplotlib."""
