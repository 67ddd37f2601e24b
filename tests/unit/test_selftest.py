# SPDX-License-Identifier: Apache-2.0
"""What goes into a guest with the kernel's own tests, and what is read of their output."""

import io
import os
import signal
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from hoplab.front.commands import selftest
from hoplab.host.machine import kernels, private
from hoplab.host.machine.sealed import Machine
from hoplab.host.selftest import build, junit, ktap, one, options, prepare, repeat, tools, tree
from hoplab.host.selftest.ktap import Status
from hoplab.host.selftest.one import Outcome, Request
from hoplab.host.selftest.tree import SELFTESTS, Tree
from hoplab.model.errors import MissingTool, ScenarioError

OUTPUT = f"""\
TAP version 13
1..1
# timeout set to 1800
# selftests: net/mptcp: simult_flows.sh
# 01 balanced bwidth                      8000 max 7906       [FAIL]
# TAP version 13
# 1..4
# not ok 1 - simult_flows: balanced bwidth # time=8000ms
# ok 2 - simult_flows: unbalanced bwidth # time=11358ms
# ok 3 - simult_flows: syncookies # SKIP
# ok 4 - simult_flows: delays # XFAIL slow
not ok 1 selftests: net/mptcp: simult_flows.sh # exit=1
# Totals: pass:0 fail:1 xfail:0 xpass:0 skip:0 error:0
{tools.UPTIME}1.25 148.75
""".splitlines()
REQUEST = Request("0" * 64, "net/mptcp:simult_flows.sh", 7, 1800)
OWN = cast(Machine, None)


def test_output_of_a_guest_is_an_outcome_with_parts() -> None:
    outcome = one.read(REQUEST, list(OUTPUT), 9.0)
    assert (outcome.status, outcome.why) == (Status.FAIL, "exit=1")
    assert outcome.virtual_s == 147.5
    assert [(part.name, part.status) for part in outcome.parts] == [
        ("simult_flows: balanced bwidth", Status.FAIL),
        ("simult_flows: unbalanced bwidth", Status.PASS),
        ("simult_flows: syncookies", Status.SKIP),
        ("simult_flows: delays", Status.XFAIL),
    ]


def test_output_without_a_result_is_a_failure_with_its_last_line() -> None:
    outcome = one.read(REQUEST, ["TAP version 13", "No such test 'net/mptcp:x'"], 1.0)
    assert outcome.status is Status.FAIL
    assert "No such test" in outcome.why


def test_lines_have_the_form_of_ktap_helpers() -> None:
    assert ktap.line(1, "selftests: a: b", Status.PASS) == "ok 1 selftests: a: b"
    assert ktap.line(2, "x", Status.FAIL, "exit=1") == "not ok 2 x # exit=1"
    assert ktap.line(3, "x", Status.SKIP) == "ok 3 x # SKIP"
    assert ktap.line(4, "x", Status.XFAIL, "slow # y") == "ok 4 x # XFAIL slow  y"
    for status in Status:
        (again,) = ktap.parse([ktap.line(1, "name", status, "why")])
        assert again.status is status
    told = ktap.totals([Status.PASS, Status.FAIL, Status.SKIP, Status.PASS])
    assert told == "# Totals: pass:2 fail:1 xfail:0 xpass:0 skip:1 error:0"


def test_the_limit_of_a_test_is_that_of_its_settings() -> None:
    assert build.timeout_s("timeout=1800\n") == 1800
    assert build.timeout_s("# timeout=3\ntimeout = 0\n") == 0
    assert build.timeout_s("") == 45  # kselftest_default_timeout of runner.sh


def test_junit_has_each_run_with_what_failed() -> None:
    failed = one.read(REQUEST, [*OUTPUT[:-1], "# \x00\x1b[31mred", OUTPUT[-1]], 9.0)
    passed = Outcome(Request("", "net:lo.sh", 1, 45), Status.PASS, "", (), 1.5, 1.0)
    skipped = Outcome(Request("", "net:tun", 1, 45), Status.SKIP, "no tun", (), 0.5, 1.0)
    root = ElementTree.fromstring(junit.document([failed, passed, skipped]))
    assert root.attrib == {
        **{"tests": "3", "failures": "1", "errors": "0", "skipped": "1"},
        "time": "149.50",
    }
    assert [suite.get("name") for suite in root] == ["net/mptcp", "net"]
    case = root[0][0]
    assert (case.get("name"), case.get("time")) == ("simult_flows.sh seed 7", "147.50")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "exit=1; simult_flows: balanced bwidth"
    skip = root[1][1].find("skipped")
    assert skip is not None and skip.get("message") == "no tun"


def test_options_have_no_modules() -> None:
    text = (
        "# for mptcp\nCONFIG_MPTCP=y\nCONFIG_NET_SCH_NETEM=m\n# CONFIG_X is not set\nCONFIG_HZ=1\n"
    )
    assert options.wished(text) == {
        **{"CONFIG_MPTCP": "y", "CONFIG_NET_SCH_NETEM": "y"},
        **{"CONFIG_X": "n", "CONFIG_HZ": "1"},
    }


def test_options_that_cannot_be_are_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's build names them three at a time; the second call knows them at once."""
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / SELFTESTS / "net"
    folder.mkdir(parents=True)
    names = ("A", "B", "C", "D", "SYN_COOKIES", "VETH")
    (folder / "config").write_text("".join(f"CONFIG_{name}=m\n" for name in names))
    config = options.config(tmp_path, "net")
    assert options.config(tmp_path, "net/lib") == ""
    asked = []

    def built(own: Any, wanted: kernels.Wanted, name: str, say: Any) -> str:
        text = wanted.options[0].read_text()
        asked.append(text)
        for many in (("A", "B", "C"), ("D",)):
            if any(f"CONFIG_{one}=" in text for one in many):
                listed = ", ".join(f"CONFIG_{one}=y" for one in many)
                raise MissingTool(f"guest kernel: --config: F: the kernel refused {listed}; what?")
        if "SYN_COOKIES" in text:
            raise MissingTool(
                "guest kernel: the kernel's configuration lost CONFIG_SYN_COOKIES=n, which Hoplab "
                "needs; F takes that away"
            )
        return name

    monkeypatch.setattr(kernels, "build", built)
    said: list[str] = []
    lock = Tree("7.3", None)
    assert options.machine(OWN, lock, "net", config, said.append) == "7.3-net"  # type: ignore[comparison-overlap]
    assert asked[-1] == "CONFIG_VETH=y\n"
    left_out = "CONFIG_A, CONFIG_B, CONFIG_C, CONFIG_D, CONFIG_SYN_COOKIES"
    assert said == [f"net: without {left_out}: the kernel here cannot have it"]
    asked.clear()
    options.machine(OWN, lock, "net", config, said.append)
    assert len(asked) == 1


def test_another_error_of_the_build_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path))

    def built(*_: Any) -> None:
        raise MissingTool("guest kernel: gcc is missing")

    monkeypatch.setattr(kernels, "build", built)
    with pytest.raises(MissingTool, match="gcc is missing"):
        options.machine(OWN, Tree("7.3", None), "net", "", print)


def test_a_name_for_the_machine_is_one_for_any_folder() -> None:
    for folder in ("/home/x/net-next", "/home/x/.my tree", "/"):
        name = options.called(Tree(None, Path(folder)), "net/mptcp")
        assert kernels.NAME.fullmatch(name), folder


def test_tests_are_chosen_by_name_and_a_wrong_one_is_told() -> None:
    tests = ("net:a.sh", "net:b.sh")
    assert prepare.choose(tests, []) == tests
    assert prepare.choose(tests, ["b.sh", "b.sh"]) == ("net:b.sh",)
    with pytest.raises(
        ScenarioError, match=r"--test: 'c.sh' is no test of net; one of: a.sh, b.sh"
    ):
        prepare.choose(tests, ["c.sh"])


def _tree(folder: Path) -> Path:
    for name in ("net", "net/mptcp", "net/lib/ynl"):
        (folder / SELFTESTS / name).mkdir(parents=True)
    (folder / SELFTESTS / "Makefile").write_text("TARGETS += net\n")
    (folder / SELFTESTS / "net/Makefile").write_text("include ../lib.mk\n")
    (folder / SELFTESTS / "net/mptcp/Makefile").write_text("include ../../lib.mk\n")
    (folder / SELFTESTS / "net/lib/ynl/Makefile").write_text("all:\n")
    (folder / SELFTESTS / "net/mptcp/mptcp_diag").write_bytes(b"\x7fELF of this host")
    (folder / SELFTESTS / "net/mptcp/lib.sh").symlink_to("../lib.sh")
    (folder / "Makefile").write_text("VERSION = 7\n")
    (folder / "fs").mkdir()
    (folder / "fs/inode.c").write_text("")
    return folder


@pytest.mark.parametrize("with_git", [False, True])
def test_a_copy_follows_a_tree_and_leaves_it_alone(tmp_path: Path, with_git: bool) -> None:
    """It has neither programs that were compiled there nor what no test's build needs."""
    source = _tree(tmp_path / "tree")
    copy = tmp_path / "copy"
    if with_git:
        subprocess.run(["git", "init", "-q", str(source)], check=True)
        (source / ".gitignore").write_text("mptcp_diag\n")
    before = {path: path.lstat().st_mtime_ns for path in source.rglob("*")}
    tree.follow(source, copy)
    assert {path: path.lstat().st_mtime_ns for path in source.rglob("*")} == before
    assert tree.collections(copy) == ["net", "net/mptcp"]
    assert not (copy / SELFTESTS / "net/mptcp/mptcp_diag").exists()
    assert (copy / SELFTESTS / "net/mptcp/lib.sh").is_symlink()
    assert not (copy / "fs").exists()
    compiled = copy / SELFTESTS / "net/mptcp/mptcp_diag"
    compiled.write_text("compiled here")
    (source / SELFTESTS / "net/Makefile").unlink()
    (source / "Makefile").write_text("VERSION = 8\n")
    tree.follow(source, copy)
    assert tree.collections(copy) == ["net/mptcp"]
    assert (copy / "Makefile").read_text() == "VERSION = 8\n"
    assert compiled.exists(), "what make has made stays"


def test_many_folders_do_not_push_out_the_locks_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacking one again takes a minute."""
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))
    kept = tmp_path / "cache/selftests/7.3-0123"
    kept.mkdir(parents=True)
    os.utime(kept, (0, 0))
    for number in range(tree.KEPT + 1):
        with tree.copied(Tree(None, _tree(tmp_path / str(number))), OWN) as copy:
            os.utime(copy, (number, number))
    assert kept.is_dir()
    assert len(list(kept.parent.glob("tree-*/"))) == tree.KEPT
    assert len(list(kept.parent.glob("tree-*.files"))) == tree.KEPT


def test_a_wrong_collection_is_told_with_those_that_exist(tmp_path: Path) -> None:
    source = _tree(tmp_path)
    with pytest.raises(ScenarioError, match=r"'net/mptc' is none of this tree; one of: net/mptcp$"):
        tree.require_collection(source, "net/mptc")
    with pytest.raises(ScenarioError, match=r"'../net' is none of this tree; one of: net$"):
        tree.require_collection(source, "../net")


def test_a_folder_that_is_no_tree_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernels, "known", lambda own: ["6.12", "7.3"])
    with pytest.raises(ScenarioError, match=r"no kernel's tree: .* kernel of the lock: 6.12, 7.3$"):
        tree.named(str(tmp_path), OWN)
    assert tree.named("7.3", OWN) == Tree("7.3", None)


def test_a_missing_compiler_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="cc is missing, and tests have programs to compile"):
        build.build(tmp_path, "net")


def test_the_lock_of_tools_is_of_those_that_tests_call() -> None:
    """python -m hoplab.host.selftest.tools"""
    asked = next(one for one in tools.LOCK.read_text().splitlines() if one.startswith("# for: "))
    assert asked.removeprefix("# for: ").split() == list(tools.TOOLS)


def test_a_result_is_printed_before_the_next_test_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """A collection may take an hour."""
    tests = ("net:a", "net:b")

    def outcomes() -> Iterator[Outcome]:
        for test in tests:
            yield Outcome(Request("", test, 1, 45), Status.PASS, "", (), 1.0, 1.0)
            yield Outcome(Request("", test, 2, 45), Status.FAIL, "exit=1", (), 1.0, 1.0)

    printed = selftest._printed(outcomes(), tests, 2, ["hoplab", "selftest", "T"], "fix")
    assert next(printed).test == "net:a"
    assert capsys.readouterr().out.splitlines() == [
        *("TAP version 13", "1..2", "# selftests: net: a", "# TAP version 13", "# 1..2"),
        "# ok 1 seed 1",
        "# not ok 2 seed 2 # exit=1; hoplab selftest T net:a --machine fix --seed 2",
        "not ok 1 selftests: net: a # 1 of 2 failed",
    ]
    assert [one.status for one in printed] == [Status.FAIL]
    assert capsys.readouterr().out.splitlines()[-1].startswith("# Totals: pass:0 fail:2 ")


def test_a_worker_that_is_asked_to_end_begins_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool's queue still has some requests for it."""
    begun = []

    def run(request: Request) -> None:
        begun.append(request)
        repeat._end(signal.SIGTERM, None)

    monkeypatch.setattr(repeat, "run", run)
    monkeypatch.setattr(repeat._Worker, "has_ended", False)
    for _ in range(2):
        with pytest.raises(SystemExit, match="143"):
            repeat._work(REQUEST)
    assert len(begun) == 1
    repeat._end(signal.SIGTERM, None)  # nothing to end


def test_the_table_cuts_no_name_and_no_number() -> None:
    """Standard error is often no terminal, and 80 columns wide."""
    test = "net/mptcp:mptcp_connect_checksum_and_more.sh"
    runs = [
        Outcome(Request("", test, n, 45), Status.FAIL, "", (), 1234.56, 321.0) for n in range(9)
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(selftest._table([selftest.Told(f"net/mptcp:{test}", runs)]))
    rows = console.export_text().splitlines()[1:]
    assert "".join(row.split()[0] for row in rows).replace("…", "") == test
    assert rows[0].split()[1:7] == ["9", "0", "9", "0", "1234.56", "321.0"]


def test_another_call_has_the_copy_while_a_kernel_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel takes ten minutes."""
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))
    source = _tree(tmp_path / "tree")
    free = []

    def built(own: Any, found: Tree, *_: Any) -> Machine:
        (lock,) = (tmp_path / "cache/selftests").glob("tree-*.lock")
        free.append(private.lock(lock) is not None)
        return OWN

    monkeypatch.setattr(kernels, "known", lambda own: ["7.3"])
    monkeypatch.setattr(build, "build", lambda *_: build.Suite(("net:a",), {}, {"net": 45}))
    monkeypatch.setattr(options, "machine", built)
    monkeypatch.setattr(tools, "with_suite", lambda machine, suite: machine)
    ready = prepare.ready(OWN, str(source), "net", [], None, print)
    assert (ready.tests, free) == (("net:a",), [True])


def test_a_pipe_in_a_tree_is_no_file_of_it(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "kept.sh").write_text("true")
    os.mkfifo(tmp_path / "tools" / "pipe")
    tree.follow(tmp_path, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy" / "tools").iterdir()) == ["kept.sh"]
