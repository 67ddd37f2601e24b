# SPDX-License-Identifier: Apache-2.0
"""Plan two windows at hidden terminals: ``python experiments/agent/lookahead.py``.

The task is that of ``window.py``. This agent learns nothing. At each step it branches for each of
its choices, and keeps that choice for `HORIZON` steps of real TCP. Then it decides for the one with
the largest sum of rewards (a rollout, Bertsekas and Castanon 1999). A branch's future draws the
same random numbers as the run itself. So this planner knows its future better than any agent in a
real network, and what it reaches is a bound. docs/howto/agent.md explains it.
"""

from __future__ import annotations

import time
from contextlib import closing

from window import CHOICES, Windows, always, judged, told, trained

HORIZON = 3


def worth(env: Windows, choice: int) -> float:
    """The rewards of a choice over the next steps, in a branch."""
    with closing(env.branch()) as future:
        total = 0.0
        for _ in range(HORIZON):
            _, reward, _, cut, _ = future.step(choice)
            total += reward
            if cut:
                break
        return total


def main() -> None:
    """Compare the planner with windows that stay, and with what was learned."""
    env = Windows()
    _, values = trained(env, seed=1)
    best = [int(row.argmax()) for row in values]
    begun = time.monotonic()
    planned = judged(env, lambda state: max(range(len(CHOICES)), key=lambda c: worth(env, c)))
    print(f"planned in {time.monotonic() - begun:.0f} s")
    others = {
        "windows 1": judged(env, always(CHOICES.index((1, 1)))),
        "windows 8": judged(env, always(CHOICES.index((8, 8)))),
        "learned": judged(env, best.__getitem__),
    }
    for name, found in (*others.items(), ("planned", planned)):
        print(f"{name}: {told(found)}")
    env.close()


if __name__ == "__main__":
    main()
