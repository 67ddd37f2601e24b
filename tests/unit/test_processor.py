# SPDX-License-Identifier: Apache-2.0
"""Which programs' code has the processor's random numbers in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from hoplab.guest.traffic import processor

SOURCE = r"""
#include <immintrin.h>
#include <stdio.h>
int main(int count, char **words)
{
    unsigned long long number;
    unsigned seed = 0;
    if (count > 1) {
#ifdef DRAWS
        while (!_rdrand64_step(&number))
            ;
        int is_there = _rdseed32_step(&seed);
        printf("%llu %d %u\n", number, is_there, seed);
#endif
    }
    return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
def test_what_a_compiler_makes_is_found(tmp_path: Path, level: str) -> None:
    source, built = tmp_path / "draws.c", tmp_path / "draws"
    source.write_text(SOURCE)
    for more, found in (["-DDRAWS"], True), ([], False):
        command = ["cc", level, "-mrdrnd", "-mrdseed", *more, "-o", str(built), str(source)]
        subprocess.run(command, check=True)
        assert processor.draws(built) is found


@pytest.mark.parametrize(
    "text", [b"", b"#!/bin/sh\n", b"\x7fELF\x02", b"\x7fELF\x02" + b"\xff" * 80]
)
def test_what_is_no_program_has_none(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "program"
    path.write_bytes(text)
    assert not processor.draws(path)


def test_python_has_none() -> None:
    assert not processor.draws(Path(sys.executable))
