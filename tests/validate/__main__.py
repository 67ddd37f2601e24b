# SPDX-License-Identifier: Apache-2.0
"""Print one line a figure, ``name measured reference deviation limit ok|FAIL``; fail if one does.

``python -m tests.validate [PART…]``; without parts, all.
"""

from __future__ import annotations

import importlib
import sys

PARTS = ("medium", "dsr", "tcp")


def main(parts: list[str]) -> int:
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"validate: {unknown[0]!r} is not known; one of: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = 0
    print("name measured reference deviation limit verdict")
    for part in parts or PARTS:
        for figure in importlib.import_module(f"tests.validate.{part}").items():
            print(figure, flush=True)
            failed += not figure.ok
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
