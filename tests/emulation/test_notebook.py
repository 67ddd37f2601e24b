# SPDX-License-Identifier: Apache-2.0
"""The notebook for Colab runs, but for its first cell, which installs a release."""

import json
from typing import Any

from hoplab.model.resources import PROJECT


def test_colabs_cells_run(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((PROJECT / "packaging/colab/hoplab.ipynb").read_text())
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells[1:]:
        exec(compile(cell, "cell", "exec"), names)
    assert names["goodput"][8] > 100
    assert len(names["run"].digest) == 64
