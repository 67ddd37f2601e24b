# SPDX-License-Identifier: Apache-2.0
"""Write every dashboard: ``python -m dashboards``."""

from __future__ import annotations

from dashboards.write import FOLDER, texts

for name, text in texts().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
