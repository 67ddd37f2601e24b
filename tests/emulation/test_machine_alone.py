# SPDX-License-Identifier: Apache-2.0
"""The runner of User-Mode Linux can be taken by itself: its README's example, and its imports."""

import re
import subprocess
import sys
from pathlib import Path

from hoplab.model.resources import PROJECT

README = PROJECT / "hoplab" / "host" / "machine" / "README.md"
BESIDE = frozenset(
    {
        *("hoplab", "hoplab.guest", "hoplab.guest.system", "hoplab.guest.system.loading"),
        *("hoplab.guest.system.note", "hoplab.host", "hoplab.model", "hoplab.model.errors"),
        *("hoplab.model.keys", "hoplab.model.keys.declare", "hoplab.model.keys.expressions"),
        *("hoplab.model.keys.program", "hoplab.model.layers", "hoplab.model.reading"),
        *("hoplab.model.resources", "hoplab.model.wording", "hoplab.model.writing"),
    }
)
"""What it needs beside itself: errors, bounded reading, how a lock declares its packages."""
SAYS = "import sys; print(*(name for name in sys.modules if name.startswith('hoplab')))"


def test_the_readmes_example_works_without_the_lab(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", f"{example}\n{SAYS}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    others = {name for name in done.stdout.split() if not name.startswith("hoplab.host.machine")}
    assert others <= BESIDE
