# SPDX-License-Identifier: Apache-2.0
"""Set-up on a distribution that is not Debian's says what is missing, by its manager's names."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from hoplab.model.resources import PROJECT

USED = ("bash", "cat", "awk", "dirname", "env")
"""What the script itself calls."""
COMPILER = """#!/bin/bash
case $1 in
-print-file-name=*) echo "/usr/lib/${1#*=}" ;;
-E) exit "${NO_HEADER:-0}" ;;
esac
"""


def _said(folder: Path, there: Sequence[str], **environment: str) -> str:
    """What is missing where only these commands are."""
    for name in USED:
        found = next(Path(p) / name for p in ("/usr/bin", "/bin") if (Path(p) / name).exists())
        (folder / name).symlink_to(found)
    for name in there:
        (folder / name).write_text(COMPILER if name == "gcc" else "#!/bin/bash\n")
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", PROJECT / "scripts" / "missing"],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


TOOLS = (
    *("gcc", "g++", "make", "flex", "bison", "bc", "xz", "patch", "objcopy", "rustc", "cargo"),
    *("python3", "depmod", "ip", "apt-get", "dpkg-deb"),
)


@pytest.mark.parametrize("manager", ["dnf", "pacman", "zypper"])
def test_where_all_is_there_nothing_is_said(manager: str, tmp_path: Path) -> None:
    assert _said(tmp_path, [manager, *TOOLS]) == ""


@pytest.mark.parametrize(
    ("manager", "told"),
    [
        ("dnf", "missing; run: sudo dnf install gcc-c++ xz elfutils-libelf-devel cargo iproute"),
        ("pacman", "missing; run: sudo pacman -S --needed gcc xz libelf rust iproute2"),
        ("zypper", "missing; run: sudo zypper install gcc-c++ xz libelf-devel cargo iproute2"),
    ],
)
def test_packages_have_the_names_of_their_manager(manager: str, told: str, tmp_path: Path) -> None:
    there = [tool for tool in TOOLS if tool not in ("g++", "xz", "cargo", "ip")]
    assert _said(tmp_path, [manager, *there], NO_HEADER="1") == told


def test_what_no_manager_has_is_named(tmp_path: Path) -> None:
    """No openSUSE has Debian's apt, and here is a computer without any manager."""
    (tmp_path / "suse").mkdir()
    (tmp_path / "none").mkdir()
    there = [tool for tool in TOOLS if tool != "apt-get"]
    told = "missing, and named differently everywhere: apt-get"
    assert _said(tmp_path / "suse", ["zypper", *there]) == told
    assert _said(tmp_path / "none", there) == told


def test_without_a_compiler_its_library_and_header_are_missing_too(tmp_path: Path) -> None:
    said = _said(tmp_path, ["dnf", *TOOLS[1:]])
    assert said == "missing; run: sudo dnf install gcc glibc-static elfutils-libelf-devel"


def test_setup_ends_with_that_line(tmp_path: Path) -> None:
    """On a computer without dpkg, before it does anything else."""
    _said(tmp_path, ["dnf", *(tool for tool in TOOLS if tool != "make")])
    done = subprocess.run(
        ["/bin/bash", PROJECT / "scripts" / "setup"],
        env={"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.strip() == "setup: missing; run: sudo dnf install make"
