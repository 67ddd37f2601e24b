# SPDX-License-Identifier: Apache-2.0
"""`scripts/setup` among tools that only say what they are asked: what it looks at again."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hoplab.model.resources import PROJECT

SAYS = """#!/bin/bash
echo "${0##*/} $*" >>"$SAID"
"""
SOURCE = "daemons/Cargo.toml"
DAEMONS = f"""
if [ "$1" = --key ]; then cat {SOURCE}; exit; fi
mkdir -p build/bin && cp {SOURCE} build/bin/.built
"""
BUILD = """
kernel=$HOPLAB_CACHE/kernel/tree
case $1 in
--print-path) [ -e build/bin/.built ] && echo "$kernel-engine" || exit 3 ;;
--print-tree) echo "$kernel" ;;
--compile) install -D /bin/true "$kernel/linux" ;;
*) install -D /bin/true "$kernel-engine/linux" ;;
esac
"""
PYTHON = """
case $* in
*" base") mkdir -p "$HOPLAB_CACHE/bases/b" && touch "$HOPLAB_CACHE/bases/b/base.cpio" && echo b ;;
*/plotly) mkdir -p hoplab/show/report && touch hoplab/show/report/plotly-basic.min.js ;;
esac
"""


class Checkout:
    """A checkout with nothing but `scripts/setup`, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder / "checkout", folder / "cache"
        self._said = folder / "said"
        for name, does in (
            ("scripts/daemons", DAEMONS),
            ("kernel-modules/guest/build", BUILD),
            (".venv/bin/python", PYTHON),
            *((f".venv/bin/{name}", "") for name in ("pip", "uv", "hoplab")),
        ):
            self.write(name, SAYS + does).chmod(0o755)
        for name in (SOURCE, "locks/python.txt", "locks/plotly.txt", "pyproject.toml"):
            self.write(name, "as it was")
        for name in ("hoplab/host/machine/root.py", "hoplab/model/records/schema.toml"):
            self.write(name, "")
        shutil.copy2(PROJECT / "scripts" / "setup", self.folder / "scripts" / "setup")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def set_up(self, **more: str) -> list[str]:
        """What was asked of the tools by a set-up."""
        self._said.write_text("")
        environment = {**os.environ, "HOPLAB_CACHE": str(self.cache), "SAID": str(self._said)}
        for name in ("HOPLAB_FOR_TESTS", "HOPLAB_KERNEL_CHECKS", "HOPLAB_MACHINE"):
            environment.pop(name, None)
        done = subprocess.run(
            [self.folder / "scripts" / "setup"],
            env=environment | more,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert not list((self.folder / "build").glob(".set-up-??????"))
        return self._said.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_set_up_makes_all_and_the_next_looks_at_nothing(checkout: Checkout) -> None:
    said = checkout.set_up()
    assert {"daemons ", "build --compile", "build "} < set(said)
    assert "python -m hoplab.host.machine.assemble" in said
    assert checkout.set_up() == []


def test_what_changed_is_looked_at(checkout: Checkout) -> None:
    checkout.set_up()
    checkout.write(SOURCE, "anew")
    assert "daemons " in checkout.set_up()
    assert checkout.set_up() == []


def test_a_file_with_an_old_date_is_new_all_the_same(checkout: Checkout) -> None:
    checkout.set_up()
    os.utime(checkout.write(SOURCE, "of long ago"), (0, 0))
    assert "daemons " in checkout.set_up()


@pytest.mark.parametrize("gone", ["kernel/tree-engine/linux", "bases/b/base.cpio"])
def test_what_is_gone_from_the_cache_is_made_anew(checkout: Checkout, gone: str) -> None:
    checkout.set_up()
    (checkout.cache / gone).unlink()
    assert checkout.set_up()
    assert (checkout.cache / gone).exists()


def test_what_was_made_for_other_settings_is_looked_at(checkout: Checkout, tmp_path: Path) -> None:
    checkout.set_up()
    assert "build --compile" in checkout.set_up(HOPLAB_CACHE=str(tmp_path / "another"))
    assert checkout.set_up(HOPLAB_KERNEL_CHECKS="lockdep")


def test_a_file_that_changes_meanwhile_is_looked_at_next_time(checkout: Checkout) -> None:
    late = f"if [ $# = 0 ]; then sed -i s/was/is/ {SOURCE}; fi\n"
    checkout.write("kernel-modules/guest/build", SAYS + BUILD + late)
    checkout.set_up()
    assert "daemons " in checkout.set_up()
