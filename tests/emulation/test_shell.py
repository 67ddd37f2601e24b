# SPDX-License-Identifier: Apache-2.0
"""The prompt on a running network, as a person at a terminal uses it."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from hoplab.model.resources import PROJECT
from tests.emulation.conftest import HOPLAB, chain

pytestmark = pytest.mark.chance

PROMPT = "hoplab> "


@pytest.fixture
def shell(tmp_path: Path) -> pexpect.spawn:
    file = tmp_path / "chain.toml"
    file.write_text(chain(3))
    child = pexpect.spawn(str(HOPLAB), ["shell", str(file)], encoding="utf-8", timeout=250)
    child.expect_exact(PROMPT)
    return child


def answer(child: pexpect.spawn, line: str) -> str:
    child.sendline(line)
    child.expect_exact(PROMPT)
    return str(child.before)


def test_a_session(shell: pexpect.spawn) -> None:
    assert "2 received" in answer(shell, "n0 ping -c 2 n2")
    assert "10.0.0.3" in answer(shell, "n0 sh -c 'getent hosts n2'")
    assert "type IBSS" in answer(shell, "n2 iw dev")
    assert "10.0.0.2" in answer(shell, "nodes")
    assert "n1       n0 n2" in answer(shell, "links")
    assert "no such station" in answer(shell, "n7 ls")
    shell.send("n0 tcpdum\t")
    shell.expect_exact("tcpdump")
    shell.sendline(" --version")
    shell.expect_exact(PROMPT)
    assert "libpcap" in str(shell.before)
    assert "STATION COMMAND" in answer(shell, "help")
    assert answer(shell, "n0 echo 'a  b' | tr a-z A-Z").endswith("A  B\r\n")
    answer(shell, "n0 sleep 300 &")
    assert answer(shell, "n1 pgrep -c sleep").endswith("1\r\n")
    shell.sendline("n0 ping n1")
    shell.expect_exact("icmp_seq=2")
    shell.sendintr()
    shell.expect_exact(PROMPT)
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    shell.wait()
    shell.close()
    assert shell.exitstatus == 0


@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_commands_without_a_terminal(
    kind: str, tmp_path: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """They are done one after the other, and the last one ends it."""
    file, commands = tmp_path / "chain.toml", tmp_path / "commands"
    file.write_text(chain(3))
    text = "\n".join(
        [
            "n2 sh -c 'while sleep 0.1; do date; done' >/dev/null &",
            "n0 ping -c 2 n2 | grep received",
            "n1 cat; echo 'a  b'",
            "n0 sh -c 'exit 7'",
        ]
    )
    commands.write_text(text)
    if kind == "pipe":
        done = hoplab("shell", str(file), input=text, timeout=250)
    else:
        with commands.open() as given:
            done = hoplab("shell", str(file), stdin=given, timeout=250)
    received, quoted = done.stdout.splitlines()
    assert "2 received" in received and quoted == "a  b"
    assert done.returncode == 7, done.stderr


def test_a_link_is_made_of_what_its_page_shows(
    tmp_path: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    page = (PROJECT / "docs" / "links.md").read_text()
    scenario, session = (
        re.findall(rf"```{kind}.*?\n(.*?)```", page, re.S)[0] for kind in ("toml", "text")
    )
    file = tmp_path / "wire.toml"
    file.write_text(scenario)
    lines = session.splitlines()
    asked = [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]
    shown = [line for line in lines if not line.startswith(PROMPT)]
    done = hoplab("shell", str(file), input="\n".join(asked) + "\n", timeout=250)
    said = [line.rstrip() for line in done.stdout.splitlines()]
    assert len(asked) == 2 and len(shown) == 4
    assert [line for line in said if "noqueue" not in line] == shown


def test_exec_in_a_terminal_is_interactive() -> None:
    child = pexpect.spawn(
        str(HOPLAB), ["exec", "--realtime", "--", "bash", "--norc"], encoding="utf-8", timeout=250
    )
    child.expect_exact("# ")
    assert "no job control" not in str(child.before)
    child.sendline("tty; echo $((6 * 7))")
    child.expect_exact("42")
    child.sendline("exit 9")
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 9


def test_doctor(hoplab: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = hoplab("doctor")
    assert done.returncode == 0, done.stdout
    assert "boots and ends in" in done.stdout
