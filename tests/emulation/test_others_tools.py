# SPDX-License-Identifier: Apache-2.0
"""A guest as a home for programs that know nothing of it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hoplab.host.machine import uml, watch
from hoplab.host.machine.guests import OpenGuest
from hoplab.host.machine.watch import Limits
from tests.emulation.conftest import HOPLAB, Hoplab

ENTERING = """
echo seen >/tmp/kept
unshare --mount sleep 1000 &
sleep 1
nsenter --mount=/proc/$!/ns/mnt cat /tmp/kept
kill $!
"""
OPTIONS = """
set -e
ip link add d0 type dummy
ip link add link d0 name d0.7 type vlan id 7
tc qdisc add dev d0 root handle 1: hfsc default 1
tc filter add dev d0 parent 1: basic police rate 1mbit burst 10k drop flowid 1:1
cat /proc/net/wireless | wc -l
ls -d /sys/class/ieee802154/phy0 >/dev/null
"""
MANY_FILES = """
import os
held = []
for folder, _, names in os.walk("/usr/share/doc"):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            held.append(open(path, "rb"))
    if len(held) >= 700:
        break
print(len(held) >= 700)
"""
UNNAMED_RADIOS = """
set -e
hoplab medium medium.toml >medium.log &
medium=$!
until grep -q ready medium.log; do sleep 0.01; done
ip netns add b
iw phy phy1 set netns name b
join() {
    $1 iw dev $2 set type ibss
    $1 ip link set $2 up
    $1 ip address add 10.0.0.$3/24 dev $2
    $1 iw dev $2 ibss join X 2412 fixed-freq 02:aa:aa:aa:aa:aa beacon-interval 10000
}
join "" wlan0 1
join "ip netns exec b" wlan1 2
sleep 0.5
ping -c 1 -W 2 10.0.0.2 | grep -c 'bytes from'
kill $medium
wait
cat /proc/uptime
"""
MEDIUM = """
[[station]]
name = "a"
mac = "02:00:00:00:00:00"
x_m = 0
y_m = 0
[[station]]
name = "b"
mac = "02:00:00:00:01:00"
x_m = 100
y_m = 0
[records]
dir = "records"
"""


def test_who_enters_a_mount_namespace_has_the_guests_files(hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "sh", "-c", ENTERING)
    assert (done.returncode, done.stdout) == (0, "seen\n"), done.stderr


def test_a_command_cannot_hide_its_status(hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "sh", "-c", "mount -t tmpfs none /run; exit 7")
    assert (done.returncode, done.stderr) == (7, "")


def test_more_files_than_a_login_may_open(hoplab: Hoplab) -> None:
    """A guest's kernel has each file open that a program has, on the host too."""
    command = ["sh", "-c", 'ulimit -Sn 256 && exec "$@"', "sh", str(HOPLAB), "exec", "--"]
    done = subprocess.run(
        [*command, "/usr/bin/python3", "-c", MANY_FILES],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout == "True\n", done.stderr


def test_a_program_that_lists_folders_without_waiting(hoplab: Hoplab) -> None:
    """No listing's memory is to stay mapped on the host until somebody waits."""
    lister = "import os\nfor _ in range(10000): os.listdir('/usr')"
    done = hoplab("exec", "--", "/usr/bin/python3", "-c", lister)
    assert done.returncode == 0, done.stderr


def test_options_that_others_tools_ask_for(hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "sh", "-c", OPTIONS)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2  # the two lines that head /proc/net/wireless


@pytest.mark.parametrize(
    ("module", "known"), [("mac80211_hwsim", True), ("tcp_tahoe", True), ("nonesuch", False)]
)
def test_modprobe_knows_what_the_kernel_has(hoplab: Hoplab, module: str, known: bool) -> None:
    done = hoplab("exec", "--", "/sbin/modprobe", module)
    assert (done.returncode == 0) == known, done.stderr


def test_a_home_of_its_own(hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "sh", "-c", "cd && ls -A && touch it && ls")
    assert (done.returncode, done.stdout) == (0, "it\n"), done.stderr


def test_what_comes_at_standard_input_in_virtual_time_is_refused(
    tmp_path: Path, hoplab: Hoplab
) -> None:
    """It would never get there: the guest does not wait for its host."""
    (tmp_path / "typed").write_text("typed\n")
    with (tmp_path / "typed").open() as file:
        for done in (hoplab("exec", "cat", input="typed\n"), hoplab("exec", "cat", stdin=file)):
            assert done.returncode == 2
            assert "standard input: is a pipe or a file" in done.stderr
            assert len(done.stderr.splitlines()) == 1


def test_who_reads_standard_input_in_virtual_time_sees_its_end(hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "sh", "-c", "cat; echo ended")
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


def test_who_computes_without_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on, where nobody asked for progress."""
    monkeypatch.setattr(watch, "CPU_LIMIT_S", 2.0)
    told: list[str] = []
    spin = "i=0; while [ $i -lt 8000000 ]; do i=$((i+1)); done"
    script = f"cp /bin/sh /tmp/spinner; /tmp/spinner -c '{spin}'; exit 3"
    result = uml.run_guest(OpenGuest(), ["sh", "-c", script], limits=Limits(tell=told.append))
    assert result.exit_status == 3
    assert len(told) == 1
    assert "no virtual time passed in" in told[0] and "it computed in spinner (" in told[0]


def test_radios_made_without_an_address_hear_from_the_first_frame_on(
    tmp_path: Path, hoplab: Hoplab
) -> None:
    """hwsim has another address for such a radio, which it tells when the radio sends."""
    (tmp_path / "medium.toml").write_text(MEDIUM)
    (tmp_path / "records").mkdir()
    path = f"{HOPLAB.parent}:{os.environ['PATH']}"
    done = hoplab(
        *("exec", "--writable", "--radios", "2", "--", "env", f"PATH={path}"),
        *("sh", "-c", UNNAMED_RADIOS),
        cwd=tmp_path,
    )
    answered, uptime = done.stdout.splitlines()
    assert answered == "1", done.stderr
    # The first beacon of the radio that only listens comes after 10.24 s.
    assert float(uptime.split()[0]) < 10
    kernel = json.loads((tmp_path / "records" / "medium.json").read_text())["kernel"]
    assert kernel["refused_deliveries"] == 0
