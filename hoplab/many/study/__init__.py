# SPDX-License-Identifier: Apache-2.0
"""Parts of a study beside single runs: many runs, and their figures beside references.

`figures` compares a mean with a reference and decides. `plot` draws, and `segments` reads TCP from
a run's captures. `ns2` runs ns-2.35's scripts and reads their traces.

``hoplab study`` is `hoplab.front.commands.study`. `folder` reads a study's folder, and `gather`
runs its sweeps (`swept`). Its analysis returns `findings`, which `pages` writes. `expected`
compares the quick version.
"""
