# SPDX-License-Identifier: Apache-2.0
"""Sweeps from Python."""

from typing import Any

import pytest

from hoplab.many.sweep import api


def test_an_option_with_a_mistake_is_refused() -> None:
    options: dict[str, Any] = {"worker": 2}
    with pytest.raises(TypeError, match=r"no option 'worker'; one of: store, tables, workers"):
        api.run_all([], **options)
