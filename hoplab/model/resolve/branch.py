# SPDX-License-Identifier: Apache-2.0
"""From a scenario with `[branch]` to its future, which has its past inside."""

from __future__ import annotations

import copy
from collections.abc import Callable

from pydantic import ValidationError

from hoplab.model.checks.branch import check_branch
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved, ResolvedBranch
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve.file import assign, parse

Resolve = Callable[[Scenario], Resolved]


def branched(scenario: Scenario, resolve: Resolve) -> Resolved:
    """Return what ``scenario`` is from its branch on; ``resolve`` is for scenarios without one.
    Raises `ScenarioError` for a change that cannot be made then."""
    assert scenario.branch is not None
    branch = scenario.branch
    document = scenario.model_dump(mode="json", exclude_unset=True, exclude={"branch"})
    past = resolve(parse(document, "scenario"))
    # Another seed moves no station, nor does it draw another topology.
    document = past.model_dump(mode="json", exclude_none=True)
    for name, value in branch.set.items():
        assign(document, name, copy.deepcopy(value), f"branch.set: {name}")
    try:
        future = resolve(parse(document, "branch"))
    except ValidationError as error:
        raise ScenarioError(f"branch.set: {error}") from None
    check_branch(past, future, branch.at_s)
    kept = ResolvedBranch(at_s=branch.at_s, set={}, past=past)
    return future.model_copy(update={"branch": kept})
