# SPDX-License-Identifier: Apache-2.0
"""The plugin that pytest loads: the marker ``hoplab``, the fixture ``lab``, ``--hoplab-seeds``.

It imports little until it is used, because a project's other tests must not wait for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hoplab.front.testing import guest
from hoplab.model.errors import ScenarioError

if TYPE_CHECKING:
    from hoplab.front.testing.lab import Lab
    from hoplab.front.testing.network import Network

MARKER = (
    "hoplab(radios=0, seed=1, realtime=False, memory_mb=2048): run this test in a guest of its "
    "own, as root, with so many virtual radios (wlan0, …) and in virtual time"
)
SEEDS = 5
KEPT = Path(".hoplab")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hoplab")
    group.addoption(
        "--hoplab-seeds",
        type=_seeds,
        metavar="N",
        help=f"seeds 1 to N of every lab.sample ({SEEDS} where it is not given) and of every test "
        "in a guest (its marker's)",
    )
    group.addoption(
        "--hoplab-runs",
        type=Path,
        metavar="FOLDER",
        help=f"where lab.run keeps runs; {KEPT}/ in pytest's root folder where it is not given",
    )
    group.addoption(
        "--hoplab-cold",
        action="store_true",
        help="boot a guest for each run and each test, instead of a copy of one that stands by",
    )


def _seeds(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise ValueError
    return int(text)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if guest.FOLDER in os.environ:
        guest.report(config, Path(os.environ[guest.FOLDER]))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With ``--hoplab-seeds`` run a test in a guest under each seed."""
    seeds = metafunc.config.getoption("hoplab_seeds")
    if seeds and metafunc.definition.get_closest_marker("hoplab") is not None:
        metafunc.fixturenames.append("hoplab_seed")
        metafunc.parametrize("hoplab_seed", range(1, seeds + 1), ids=lambda seed: f"seed{seed}")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """In a guest, search the current folder for modules, as ``python -m pytest`` does, now that
    this package has been found."""
    if guest.FOLDER in os.environ and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Iterator[None]:
    status = yield
    if guest.FOLDER in os.environ:
        guest.leave(config, int(status or 0))
    return status


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send a marked test into a guest. The guest's own pytest also calls this, and runs the
    test."""
    marker = item.get_closest_marker("hoplab")
    if marker is None or guest.FOLDER in os.environ:
        return None
    # The machine, which only tests with the marker need.
    from hoplab.front.testing import outside

    outside.run(item, marker, nextitem)
    # Tear down set-up of earlier tests, of a package say, that was kept for this test.
    item.session._setupstate.teardown_exact(nextitem)
    return True


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Lab:
    """Runs scenarios for a test: ``lab.run("x.toml")``, ``lab.sample("x.toml", read)``.

    A run that was finished before, whatever test asked for it, is not run again.
    """
    # Arrow and Plotly, half a second.
    from hoplab.front.testing.lab import Lab, originals

    config = request.config
    kept = config.getoption("hoplab_runs") or config.rootpath / KEPT
    seeds = config.getoption("hoplab_seeds") or SEEDS
    made = Lab(kept, request.path.parent, seeds, originals(config, kept))
    request.node.stash[LAB] = made
    return made


@pytest.fixture
def network(request: pytest.FixtureRequest) -> Iterator[Callable[..., Network]]:
    """In a guest: ``net = network("x.toml")`` builds a scenario's stations, radios, channel and
    routing, without its traffic; they go when the test ends."""
    # The lab's own modules, which only a guest needs.
    from hoplab.front.testing.network import networks

    if guest.FOLDER not in os.environ:
        raise ScenarioError(
            f"{request.node.name}: network: is there in a guest only; mark it @pytest.mark.hoplab"
        )
    with networks(request.path.parent) as build:
        yield build


LAB: pytest.StashKey[Lab] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Add the runs' reports and their last events to a failed test's message."""
    report = yield
    used = item.stash.get(LAB, None)
    if used is not None and report.when == "call" and report.failed:  # type: ignore[attr-defined]
        report.sections.append(("hoplab runs", used.told()))  # type: ignore[attr-defined]
    return report
