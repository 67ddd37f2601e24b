# SPDX-License-Identifier: Apache-2.0
"""The limit of a test's time: what is slow passes, what hangs or spins is ended with its stacks."""

import pytest

from hoplab.model.resources import PROJECT
from tests.limit import Limit

pytest_plugins = ["pytester"]
SETTINGS = ("-p", "tests.limit", "-p", "no:cacheprovider", "-n", "0")


def test_slow_is_not_hung() -> None:
    """At a fiftieth of a core and more a test may go on until it has used its share."""
    limit = Limit(used_s=100, idle_s=100, sample_s=5)
    samples = (limit.broken(0.1 * step) for step in range(1100))
    ended = next(told for told in samples if told is not None)
    assert ended == "it used more than 100 s of processor time"


def test_hung_is_ended_after_its_time() -> None:
    limit = Limit(used_s=100, idle_s=100, sample_s=5)
    busy = [limit.broken(float(step)) for step in range(50)]
    idle = [limit.broken(50.0 + 0.01 * step) for step in range(40)]
    assert set(busy) == {None}
    assert idle.index(next(filter(None, idle))) in range(15, 21)
    assert "it hangs: " in (idle[-1] or "")


def test_what_a_process_takes_along_is_not_lost() -> None:
    """One that leaves the tree, as a daemon does, takes its time out of the sum."""
    limit = Limit(used_s=100, idle_s=1000, sample_s=5)
    assert [limit.broken(now) for now in (0, 90, 0, 9)] == [None] * 4
    assert limit.broken(11) is not None


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other pytest finds the plug-in."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))


def ended(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(f"import subprocess, sys, threading, time\ndef test_it():\n    {body}\n")
    return pytester.runpytest_subprocess(*SETTINGS, *options)


def test_a_test_that_waits_for_ever_fails_with_its_stacks(pytester: pytest.Pytester) -> None:
    body = (
        "threading.Thread(target=time.sleep, args=(5,), name='other').start();"
        "subprocess.run(['sleep', '10000'])"
    )
    done = ended(pytester, body, "-o", "idle=3", "--timeout", "100")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*Timeout: it hangs: *", "*sleep 10000*", "*thread other:*"])
    assert "test_it" in done.stdout.str()


@pytest.mark.parametrize(
    "body",
    ["while True: pass", "subprocess.run([sys.executable, '-c', 'while True: pass'])"],
    ids=["itself", "child"],
)
def test_a_test_that_spins_fails(pytester: pytest.Pytester, body: str) -> None:
    done = ended(pytester, body, "-o", "idle=1000", "--timeout", "1")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*Timeout: it used more than 1 s of processor time*"])
