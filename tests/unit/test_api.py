# SPDX-License-Identifier: Apache-2.0
"""The Python API, as far as it needs no guest."""

import subprocess
import sys
from pathlib import Path

import pytest

import hoplab
from hoplab.front import api
from hoplab.guest.network.netlink import Refused
from hoplab.model import errors
from tests.scenarios import ONE_HOP

PAIR = {"topology": {"kind": "pair"}, "flow": [{"source": "n0", "destination": "n1"}]}


def test_a_scenario_comes_as_file_document_or_object(tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    file.write_text(ONE_HOP, encoding="utf-8")
    built = hoplab.Scenario(
        topology=hoplab.Scenario.model_validate(PAIR).topology,
        flow=hoplab.Scenario.model_validate(PAIR).flow,
    )
    same = [api.resolved_scenario(given) for given in (file, str(file), PAIR, built)]
    assert all(scenario == same[0] for scenario in same)


def test_changes_reach_the_key_and_leave_the_document_alone() -> None:
    changed = api.resolved_scenario(PAIR, seed=7, changes={"flow.0.window": 8, "duration_s": 3})
    assert (changed.seed, changed.flow[0].window, changed.duration_s) == (7, 8, 3)
    assert "window" not in PAIR["flow"][0]


def test_a_table_can_be_set_whole() -> None:
    loss = [{"kind": "uniform", "rate": 0.1}]
    assert api.resolved_scenario(PAIR, changes={"loss": loss}).loss[0].rate == 0.1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"flow.1.window": 8}, "set flow.1.window: flow has index 0 only"),
        ({"flow.0.windw": 8}, "did you mean 'window'"),
        ({"duration_s": -1}, "should be greater than 0"),
    ],
)
def test_mistakes_are_exceptions_with_the_commands_messages(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(hoplab.ScenarioError, match=message):
        api.resolved_scenario(PAIR, changes=changes)


def test_a_status_becomes_its_exception() -> None:
    assert type(errors.of_status(4, "x")) is hoplab.DaemonDied
    assert errors.of_status(143, "x").exit_status == 143
    assert Refused("x", 1).exit_status == 1
    assert type(errors.of_status(1, "x")) is errors.HoplabError  # of which that is a special case
    assert errors.of_status(-9, "x").exit_status == 1  # whatever else ends the lab


def test_the_package_is_light_until_it_is_used() -> None:
    """The lab in a guest and pytest's plug-in import it too."""
    code = "import sys, hoplab, hoplab.front.testing.plugin; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'runn'"):
        _ = hoplab.runn
