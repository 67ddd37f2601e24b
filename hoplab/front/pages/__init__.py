# SPDX-License-Identifier: Apache-2.0
"""Pages, schemas and tables that are generated from declarations."""
