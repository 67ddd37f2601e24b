# SPDX-License-Identifier: Apache-2.0
"""Prague is for kernels with accurate ECN feedback, which the default one has not."""

from pathlib import Path

from tests.emulation.conftest import Hoplab

TEXT = """duration_s = 2
topology = { kind = "pair" }
flow = [{ source = "n0", destination = "n1", congestion_control = "prague" }]
"""


def test_the_default_kernel_is_refused_in_a_line(hoplab: Hoplab, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    done = hoplab("run", str(file), "--out", str(tmp_path / "run"))
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if "prague" in line]
    assert "'prague' needs accurate ECN feedback" in line
    assert "Linux 7.2 and newer have it" in line
