# SPDX-License-Identifier: Apache-2.0
"""The medium in the guest's kernel: many statuses at once, what fails, and the other way."""

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results
from hoplab.host.machine import select
from hoplab.host.machine.guests import SealedGuest
from hoplab.host.machine.uml import run_guest
from hoplab.model.errors import GuestFailed
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import Run

DEVICE = "/dev/hoplab-medium"
FLOWS = 6
OFF_S, ON_S, END_S = 3, 4, 8
RUN_DRY = 256
"""More statuses than twice what mac80211's queue of statuses holds."""

CROWDED = f"""
duration_s = {END_S}
[topology]
kind = "pair"
[radio]
queue_packets = 1000
[measure]
frames = true
[[event]]
kind = "down"
station = "n0"
at_s = {OFF_S}
[[event]]
kind = "up"
station = "n0"
at_s = {ON_S}
""" + "".join(
    f"""
[[flow]]
protocol = "udp"
source = "n0"
destination = "n1"
rate_kbps = 2000
packet_bytes = {200 + 10 * i}
"""
    for i in range(FLOWS)
)


def document() -> dict[str, Any]:
    text = (PROJECT / "daemons" / "medium" / "tests" / "document.json").read_text()
    found: dict[str, Any] = json.loads(text)
    found["records"]["dir"] = "/out"
    return found


def given(tmp_path: Path, content: str, then: str = "") -> int:
    """Exit status of a guest whose kernel's medium is given ``content``; Python then does ``then``
    with the device ``f``."""
    (tmp_path / "document").write_text(content)
    script = (
        f"import os; f = os.open('{DEVICE}', os.O_RDWR)\n"
        "text = open('/out/document', 'rb').read()\n"
        "try: os.write(f, text)\n"
        "except OSError as error: open('/out/said', 'wb').write(os.read(f, 4096)); raise\n" + then
    )
    guest = SealedGuest(select.chosen(), tmp_path)
    return run_guest(guest, ["python3", "-c", script]).exit_status


def test_every_one_of_many_statuses_at_once_arrives(run_scenario: Run) -> None:
    """A lost status would leave its frame's octets in the sender's socket, which then stands."""
    run = Path(run_scenario(CROWDED)["folder"])
    medium = json.loads((run / "manifest.json").read_text())["medium"]
    assert medium["home"] == "kernel" and medium["doubts"] == []
    assert medium["frames"]["off"] > RUN_DRY
    assert medium["kernel"]["refused_statuses"] == 0
    frames = results.load(run).rows("frames")
    late = [row for row in frames if row["t_s"] > ON_S + 1 and row["fate"] == "delivered"]
    assert len({row["payload_bytes"] for row in late if row["kind"] == "data"}) >= FLOWS


def test_both_homes_come_to_the_same(run_scenario: Run) -> None:
    """Apart from what a process's own calls move: some 256 ns a call."""
    text = """
duration_s = 20
[topology]
kind = "chain"
stations = 3
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n2"
window = 8
"""
    goodput = [
        run_scenario(text, "--medium", home)["flows"][0]["goodput_kbps"]
        for home in ("kernel", "daemon")
    ]
    assert goodput[0] == pytest.approx(goodput[1], rel=0.03)


def test_a_document_that_is_wrong_is_refused(tmp_path: Path) -> None:
    wrong = document()
    del wrong["epoch_ns"]
    assert given(tmp_path, json.dumps(wrong)) == 1
    assert (tmp_path / "said").read_text() == "line 1: .: missing field `epoch_ns`"
    elsewhere = document()
    elsewhere["records"]["dir"] = "/run/host"
    assert given(tmp_path, json.dumps(elsewhere)) == 1
    assert (tmp_path / "said").read_text() == "/run/host: expected a path below /out"


def test_an_engine_that_panics_ends_the_run_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(GuestFailed) as failure:
        given(tmp_path, json.dumps(document()), then="os.write(f, b'crash')")
    assert failure.value.exit_status == 5
    assert "medium: panicked at" in str(failure.value) and "asked to" in str(failure.value)
