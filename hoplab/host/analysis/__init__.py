# SPDX-License-Identifier: Apache-2.0
"""The course of a run in the form of other tools' traces."""
