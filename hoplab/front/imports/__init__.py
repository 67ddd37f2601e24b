# SPDX-License-Identifier: Apache-2.0
"""Other tools' networks as scenarios. Each reader says what it left out."""
