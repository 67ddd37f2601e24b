# SPDX-License-Identifier: Apache-2.0
"""Tests of a kernel's tree in guests: what passes, fails, skips, takes too long, and again."""

import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from hoplab.host.selftest.tree import SELFTESTS
from tests.emulation.conftest import call

MAKEFILE = """\
install:
	mkdir -p $(KSFT_INSTALL_PATH)/tiny
	cp run_kselftest.sh $(KSFT_INSTALL_PATH)
	cp tiny/*.sh tiny/settings $(KSFT_INSTALL_PATH)/tiny
	cd tiny && for test in *.sh; do echo tiny:$$test; done >$(KSFT_INSTALL_PATH)/kselftest-list.txt
"""
RUNNER = """\
#!/bin/bash
# As kselftest's own: the output in comments, the status as a result.
cd "${2%:*}"
echo "TAP version 13" >>/dev/stdout
./"${2#*:}" | sed 's/^/# /'
case ${PIPESTATUS[0]} in
0) echo "ok 1 selftests: tiny: ${2#*:}" ;;
4) echo "ok 1 selftests: tiny: ${2#*:} # SKIP" ;;
*) echo "not ok 1 selftests: tiny: ${2#*:} # exit=${PIPESTATUS[0]}" ;;
esac
"""
TESTS = {
    # Tools are Debian's, not busybox's, and time is virtual.
    "chosen.sh": "ip -V | grep -q iproute2 && echo a 1 | awk '{ exit $2 - 1 }' && sleep 5\n",
    "endless.sh": "sleep 1000000\n",
    # Its numbers are the seed's.
    "failing.sh": 'echo "not ok 1 - drew $(od -An -N8 -tx8 /dev/urandom)"\nexit 1\n',
    "skipped.sh": "exit 4\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with one collection, whose tests need no compiler."""
    folder = tmp_path_factory.mktemp("tree")
    top = folder / SELFTESTS
    (top / "tiny").mkdir(parents=True)
    (folder / "Makefile").write_text("headers:\n")
    (top / "Makefile").write_text(MAKEFILE)
    (top / "tiny/Makefile").write_text("include ../lib.mk\n")
    (top / "tiny/settings").write_text("timeout=100\n")
    scripts = {f"tiny/{name}": f"#!/bin/bash\n{text}" for name, text in TESTS.items()}
    for name, text in {"run_kselftest.sh": RUNNER, **scripts}.items():
        (top / name).write_text(text)
        (top / name).chmod(0o755)
    return folder


def test_results_are_ktap_and_junit(tree: Path, tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    options = ["--machine", "6.12", "--junit", str(report)]
    done = call("selftest", str(tree), "tiny", *options)
    assert done.returncode == 1, done.stderr
    results = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert results[:2] == ["TAP version 13", "1..4"]
    assert results[2] == "ok 1 selftests: tiny: chosen.sh"
    # Its limit is 100 s, and kselftest's own has 60 s more to say so.
    assert re.match(r"not ok 2 selftests: tiny: endless.sh .* within 160 s of virtual", results[3])
    assert results[4] == "not ok 3 selftests: tiny: failing.sh # exit=1"
    assert results[5] == "ok 4 selftests: tiny: skipped.sh # SKIP"
    assert "# Totals: pass:1 fail:2 xfail:0 xpass:0 skip:1 error:0" in done.stdout
    assert "# seed 1: 5.0" in done.stdout, "sleep 5 takes 5 virtual seconds"
    root = ElementTree.parse(report).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("4", "2", "1")
    failures = [failure.get("message", "") for failure in root.iter("failure")]
    assert re.fullmatch("exit=1; drew +[0-9a-f]{16}", failures[1])


def test_repetitions_differ_by_seed_and_a_failing_seed_comes_again_alone(tree: Path) -> None:
    what = ["selftest", str(tree), "tiny:failing.sh", "--machine", "6.12"]
    done = call(*what, "--times", "2", "--seed", "7")
    assert done.returncode == 1
    told = re.findall(r"^# not ok \d seed (\d) # drew +([0-9a-f]{16}); (.*)$", done.stdout, re.M)
    assert [seed for seed, _, _ in told] == ["7", "8"]
    assert told[0][1] != told[1][1]
    assert "not ok 1 selftests: tiny: failing.sh # 2 of 2 failed" in done.stdout
    assert re.search(r"failing.sh +2 +0 +2 +0 +0.0\d +\S+ +7, 8", done.stderr)
    again = shlex.split(told[1][2])
    assert again == ["hoplab", *what, "--seed", "8"]
    assert f"drew  {told[1][1]}" in call(*again[1:]).stdout


def test_mistakes_are_one_line(tree: Path) -> None:
    for what, said in (
        ("tyni", "hoplab: COLLECTION: 'tyni' is none of this tree; one of: tiny"),
        ("tiny:x.sh", "hoplab: --test: 'x.sh' is no test of tiny; one of: chosen.sh, endless.sh"),
    ):
        done = call("selftest", str(tree), what, "--machine", "6.12")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(said) and done.stderr.count("\n") == 1


@pytest.mark.nightly  # compiles a kernel
def test_a_packaged_kernels_test_of_timing_passes_and_comes_again(tmp_path: Path) -> None:
    """It allows 50 ms, which a busy computer takes now and then. A second call builds nothing."""
    what = ["selftest", "7.3", "net/mptcp:simult_flows.sh"]
    done = call(*what, "--times", "2", "--junit", str(tmp_path / "junit.xml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok 1 selftests: net/mptcp: simult_flows.sh\n" in done.stdout
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    times = [float(case.get("time", "")) for case in root.iter("testcase")]
    assert times[0] != times[1], "seeds differ"
    again = call(*what, "--seed", "2")
    assert "compiling" not in again.stderr
    assert f"# seed 2: {times[1]:.2f} virtual s" in again.stdout
