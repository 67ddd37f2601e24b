# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel that a scenario names, and stations whose TCP differs."""

import json
from pathlib import Path

from hoplab.host import results
from tests.emulation.conftest import Hoplab, Run

TWO = """
duration_s = 4
[measure]
interval_s = 0.05
[tcp]
sysctl = {{ "net.ipv4.tcp_notsent_lowat" = 16384{more} }}
[[station]]
name = "a"
radio = false
sysctl = {{ "net.ipv4.tcp_wmem" = "4096 8192 8192" }}
[[station]]
name = "b"
radio = false
[station.tcp]
initial_window = 2
[[link]]
ends = ["a", "b"]
rate_mbps = 100
delay_ms = 50
[[flow]]
source = "a"
destination = "b"
[[flow]]
source = "b"
destination = "a"
"""


def test_settings_act_and_are_in_the_manifest(run_scenario: Run) -> None:
    """A send buffer of 8 kB holds no more than that in flight, in a round trip of 100 ms. A flow
    from the other station fills the link."""
    done = run_scenario(TWO.format(more=""))
    folder = Path(done["folder"])
    settings = json.loads((folder / "manifest.json").read_text())["tcp_settings"]
    assert {station["net.ipv4.tcp_notsent_lowat"] for station in settings.values()} == {"16384"}
    assert settings["a"]["net.ipv4.tcp_wmem"] == "4096 8192 8192"
    assert "net.ipv4.tcp_wmem" not in settings["b"]
    narrow, wide = (flow["goodput_kbps"] for flow in done["flows"])
    assert narrow < 8 * 8192 / 100
    assert wide > 30 * narrow
    windows: dict[str, list[int]] = {"flow0": [], "flow1": []}
    for row in results.load(folder).rows("tcp"):
        windows[row["flow"]].append(row["cwnd"])
    # Nothing is lost, so that no window is below the one with which its flow begins.
    assert {flow: min(cwnds) for flow, cwnds in windows.items()} == {"flow0": 10, "flow1": 2}


def test_a_setting_that_the_kernel_lacks_is_one_line(hoplab: Hoplab, tmp_path: Path) -> None:
    for more, words in (
        (', "net.ipv4.tcp_nosuch" = 1', "sysctl net.ipv4.tcp_nosuch: this kernel"),
        (', "net.ipv4.tcp_fin_timeout" = "x"', "the kernel refuses 'x' at a: Invalid argument"),
    ):
        file = tmp_path / "s.toml"
        file.write_text(TWO.format(more=more))
        done = hoplab("run", str(file), "--out", str(tmp_path / f"run{len(more)}"))
        assert done.returncode != 0
        assert words in done.stderr.splitlines()[0]
