# SPDX-License-Identifier: Apache-2.0
"""What a page needs before it is there."""

import subprocess
import sys

LOADED = """
import importlib.util, sys
from hoplab.show.live import shown
assert "pandas" not in sys.modules
shown._settled()
assert ("pandas" in sys.modules) == (importlib.util.find_spec("pandas") is not None)
"""


def test_arrow_has_loaded_pandas_before_a_thread_of_the_page_draws() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True)
