# SPDX-License-Identifier: Apache-2.0
"""A scenario as an environment of Gymnasium's: an agent decides, then virtual time passes."""

from __future__ import annotations

import contextlib
import copy
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hoplab.front import api
from hoplab.front.agents.actions import Action, Goes, Window
from hoplab.front.agents.episode import Episode
from hoplab.front.agents.family import Family
from hoplab.front.agents.fields import Field, Observer, field
from hoplab.host.machine import select
from hoplab.host.machine.copies import Source
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.steps import Steps, Wanted
from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.keys.requests import Request
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import Scenario

Observation = dict[str, np.ndarray[Any, Any]]
Reward = Callable[[Observation], float]
ONLY = ""
"""The name of an action without others."""
LARGEST_SEED = 2**31 - 1
DELIVERED = "tcp.{}.delivered_bytes/s"


class ScenarioEnv(gymnasium.Env[dict[str, Any], Any]):
    """A run of ``scenario`` is an episode; a step is ``step_s`` of its virtual time.

    No virtual time passes while the agent thinks, because the guest waits in one read from the
    host. The same seed and actions therefore give the same run to the byte. Its ``digest`` is in
    the last ``info``.

    ``scenario`` and ``set`` are as in `hoplab.run`. ``action`` is one action, or several by names.
    ``observe`` names numbers of the run's samples, such as ``tcp.flow0.cwnd``; ``/s`` makes it a
    rate of growth. By default it is the rate at which each TCP flow delivers. ``reward`` computes a
    step's reward from the observation. By default it is what all TCP flows have delivered in
    Mbit/s. ``folder`` keeps the runs, numbered from 1. Without it they are removed.

    Raises `ScenarioError` for a mistake in these arguments, and at a step for an impossible action.
    Raises the `HoplabError` of a run that fails.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, Any],
        action: Action | Mapping[str, Action],
        *,
        step_s: float = 1.0,
        observe: Sequence[str] | None = None,
        reward: Reward | None = None,
        set: Mapping[str, Any] | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self.scenario = api.resolved_scenario(scenario, None, set or {})
        self._step_s = _checked_step(step_s, self.scenario)
        self._actions = dict(action) if isinstance(action, Mapping) else {ONLY: action}
        for one in self._actions.values():
            one.check(self.scenario)
        _require_apart(self._actions.values())
        told, delivered = _fields(observe, self.scenario)
        self._fields = {one.name: one for one in (*told, *delivered)}
        self._told = [one.name for one in told]
        self._delivered = [one.name for one in delivered]
        self._reward = reward
        self._family = Family(None if folder is None else Path(folder))
        self._family.join()
        self._machine = select.chosen()
        Sealed(self._machine).require(self.scenario)
        self._episode: Episode | None = None
        self._observer = Observer((), (), ())
        self._last: dict[str, Request] = {}
        self._number = 0
        self._again: Again | None = None
        """Runs from time 0 on with the present seed, once it has come twice."""
        self._is_closed = False
        self._running = self.scenario
        """With the present run's seed."""
        self.action_space = (
            self._actions[ONLY].space
            if ONLY in self._actions
            else spaces.Dict({name: one.space for name, one in self._actions.items()})
        )
        self.observation_space = spaces.Dict({one.name: one.space for one in told})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a run with ``seed``, and return the observation at time 0. Without a seed, the
        first run has the scenario's. Later runs have one that follows from the last given seed."""
        first = self._number == 0
        if seed is None and first:
            seed = self.scenario.seed
        super().reset(seed=seed)
        chosen = seed if seed is not None else int(self.np_random.integers(1, LARGEST_SEED))
        self._end()
        is_same = self._number > 0 and chosen == self._running.seed
        if not is_same:
            self._end_again()
        if self._again is not None and (made := self._again.taken()) is not None:
            return self._seen_again(made, chosen)
        self._number += 1
        flows = [one.flow for one in self._actions.values() if isinstance(one, Goes)]
        planned = [flow.name for flow in self.scenario.flow]
        self._observer = Observer(self._fields.values(), flows, planned)
        self._last = {}
        self._running = self.scenario.model_copy(update={"seed": chosen})
        wanted = Wanted(
            self._step_s,
            [one.flow for one in self._actions.values() if isinstance(one, Window)],
            flows,
            any(one.for_medium for one in self._actions.values()),
        )
        self._begin(Steps(wanted), self._family.episode(self._number), self._family.originals)
        assert self._episode is not None
        at_s = self._episode.reached()
        assert at_s is not None
        if is_same and not self._family.is_kept and self._episode.steps.can_branch:
            self._end_again()
            with contextlib.suppress(HoplabError):  # then the next one begins anew too
                self._again = Again(self.branch())
        observation, _, info = self._seen(at_s)
        return observation, {**info, "seed": chosen}

    def _seen_again(self, made: ScenarioEnv, seed: int) -> tuple[Observation, dict[str, Any]]:
        """Go on by the run of another environment at time 0, and return what `reset` returns."""
        self._episode, self._observer, self._last = made._episode, made._observer, {}
        made._episode = None
        made.close()
        observation, _, info = self._seen(0.0)
        return observation, {**info, "seed": seed}

    def _end_again(self) -> None:
        if self._again is not None:
            self._again.close()
            self._again = None

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Decide, and let ``step_s`` pass. The last step of a run is truncated. Its ``info`` has
        ``digest`` and ``warnings``, and ``folder`` if the run is kept."""
        if self._episode is None:
            raise HoplabError("step: there is no run; call reset first")
        try:
            requests = self._requests(action)
        except ScenarioError as error:  # the run waits for another action
            raise error.with_traceback(None) from None
        self._episode.go_on(requests)
        at_s = self._episode.reached()
        if at_s is not None:
            observation, reward, info = self._seen(at_s)
            return observation, reward, False, False, info
        observation, reward, info = self._seen(self.scenario.duration_s)
        manifest = self._episode.manifest
        assert manifest is not None
        info |= {"digest": manifest.digest, "warnings": manifest.verdict.warnings}
        if self._family.is_kept:
            info["folder"] = str(self._episode.folder)
        self._end()
        return observation, reward, False, True, info

    def branch(self, seed: int | None = None) -> ScenarioEnv:
        """Return an environment that goes on from here by itself, with a run of its own.

        Both have the same past, and with the same actions the same future, to the byte. The branch
        is a copy of this run's guest. Where no copy can be made, its run repeats the past first,
        which takes as long as that took. It may branch itself. Close it like any environment. With
        a ``seed`` the channel and the kernel draw otherwise from here on. Raises `HoplabError`
        without a run, and `ScenarioError` for what is no seed.
        """
        if self._episode is None:
            raise HoplabError("branch: there is no run; call reset first")
        steps = self._episode.steps.branch(seed)
        made = copy.copy(self)
        made._again = None
        made._observer, made._last = copy.deepcopy(self._observer), copy.deepcopy(self._last)
        made._np_random = copy.deepcopy(self._np_random)
        made._family.join()
        past = self._episode
        made._begin(steps, self._family.branch(past.folder), past.steps)
        steps.repeat()
        return made

    def _begin(self, steps: Steps, folder: Path, among: Source) -> None:
        take = self._observer.take
        self._episode = Episode(self._running, self._machine, steps, take, folder, among)

    def close(self) -> None:
        """End the present run, if there is one."""
        self._end()
        self._end_again()
        if not self._is_closed:
            self._is_closed = True
            self._family.leave()
        super().close()

    def _end(self) -> None:
        if self._episode is not None:
            self._episode.close(at_once=not self._family.is_kept)
            if not self._family.is_kept:
                shutil.rmtree(self._episode.folder, ignore_errors=True)
            self._episode = None

    def _requests(self, action: Any) -> list[Request]:
        """Return the requests for actions that have changed since the last step. Raises
        `ScenarioError` for a value that is not in its space, such as NaN."""
        values = {ONLY: action} if ONLY in self._actions else action
        if not isinstance(values, Mapping) or self._actions.keys() - values.keys():
            names = ", ".join(self._actions)
            raise ScenarioError(f"action: {action!r:.60}; expected values by name: {names}")
        for name, one in self._actions.items():
            if not one.space.contains(values[name]):
                what = f"action {name}" if name else "action"
                raise ScenarioError(f"{what}: {values[name]!r:.60} is not in {one.space}")
        made = {name: one.request(values[name]) for name, one in self._actions.items()}
        changed = [made[name] for name in made if self._last.get(name) != made[name]]
        self._last = made
        return changed

    def _seen(self, at_s: float) -> tuple[Observation, float, dict[str, Any]]:
        found, missing = self._observer.observe(at_s)
        observation = {name: found[name] for name in self._told}
        if self._reward is None:
            reward = sum(float(found[name][0]) for name in self._delivered) * 8e-6
        else:
            reward = self._judged(observation)
        told = [name for name in missing if name in observation]
        return observation, reward, {"t_s": at_s, "missing": told}

    def _judged(self, observation: Observation) -> float:
        """Return the user's reward. If there is none, ends the run and raises `ScenarioError`."""
        assert self._reward is not None
        try:
            reward = float(self._reward(observation))
            if not math.isfinite(reward):
                raise ValueError(f"{reward} is no number")
        except Exception as error:
            self._end()
            told = f"reward: {type(error).__name__}: {error}; the run was ended"
            inside = error.__traceback__ and error.__traceback__.tb_next
            raise ScenarioError(told) from error.with_traceback(inside)
        return reward


class Again:
    """Branches of an environment at time 0, one of them made ahead while an agent works."""

    def __init__(self, origin: ScenarioEnv) -> None:
        self._origin = origin
        self._maker = ThreadPoolExecutor(1, "again")
        self._next = self._maker.submit(origin.branch)

    def taken(self) -> ScenarioEnv | None:
        """Return the one that has been made, and have another one made. None if that failed."""
        try:
            made = self._next.result()
        except HoplabError:
            return None
        self._next = self._maker.submit(self._origin.branch)
        return made

    def close(self) -> None:
        """End the origin and what has been made ahead."""
        with contextlib.suppress(HoplabError):
            self._next.result().close()
        self._maker.shutdown()
        self._origin.close()


def _checked_step(step_s: float, scenario: Resolved) -> float:
    interval_s = scenario.measure.interval_s
    if not interval_s <= step_s <= scenario.duration_s:
        raise ScenarioError(
            f"step_s: {step_s:g}; expected at least measure.interval_s, {interval_s:g}, since "
            f"there is nothing new before, and at most duration_s, {scenario.duration_s:g}"
        )
    return float(step_s)


def _require_apart(actions: Any) -> None:
    seen = set()
    for one in actions:
        about = tuple(map(str, (type(one).__name__, *_subject(one))))
        if about in seen:
            raise ScenarioError(f"action: {' '.join(about)} is there twice")
        seen.add(about)


def _subject(one: Action) -> Iterator[Any]:
    for key in ("flow", "station", "src", "dst", "destination"):
        if (value := getattr(one, key, None)) is not None:
            yield value


def _fields(observe: Sequence[str] | None, scenario: Resolved) -> tuple[list[Field], list[Field]]:
    """Return the observed fields, and the fields of the default reward."""
    delivered = [
        field(DELIVERED.format(flow.name), scenario)
        for flow in scenario.flow
        if flow.protocol == "tcp"
    ]
    told = delivered if observe is None else [field(name, scenario) for name in observe]
    if not told:
        raise ScenarioError("observe: no field, and no flow of TCP to tell of; name at least one")
    return told, delivered
