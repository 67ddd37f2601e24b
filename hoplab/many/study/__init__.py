# SPDX-License-Identifier: Apache-2.0
"""What a study needs beside single runs: many of them, and their figures beside references.

`runs` runs scenarios given as documents, one guest a core, over several seeds; `samples` makes
means with confidence intervals of what they give; `figures` holds such a mean beside a reference
and decides; `plot` draws; `segments` reads TCP out of a run's captures; `ns2` runs ns-2.35's
scripts and reads their traces.

``hoplab study`` is `command`: `folder` reads a study's folder, `gather` runs its sweeps (`swept`),
its analysis gives `findings`, `pages` writes them, `expected` compares the short version.
"""
