# SPDX-License-Identifier: Apache-2.0
"""A command with a page, while it runs."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hoplab.model.resources import PROJECT

HOPLAB = PROJECT / ".venv" / "bin" / "hoplab"


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and where its page is; ended afterwards, however long that takes."""
    process = subprocess.Popen(
        [str(HOPLAB), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
    )
    assert process.stdout is not None
    try:
        said = ""
        while (found := re.search(r"http://\S+", said)) is None:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process, found.group()
    finally:
        process.terminate()
        if not process.stdout.closed:
            process.communicate()
