# SPDX-License-Identifier: Apache-2.0
"""Packages that a scenario names: its lock, and the machine that has them."""

import hashlib
import io
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.machine import cpio, equip, memory, store
from hoplab.host.machine.sealed import Machine
from hoplab.host.runs.kinds import OwnGuest
from hoplab.model.errors import MissingTool, ScenarioError
from hoplab.model.keys.program import Additions
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from tests.unit.test_machine import ROOT, make, own_cache

__all__ = ["own_cache"]

HASH = "0" * 64


def scenario(place: Path, program: dict[str, Any] | None = None, **machine: Any) -> Scenario:
    """Resolved, of one program that does nothing."""
    document = {
        "duration_s": 1,
        "topology": {"kind": "pair"},
        "machine": machine,
        "program": [{"station": "n0", "run": "true", **(program or {})}],
    }
    return resolve(parse(document, "test"), place)


def test_a_resolved_scenario_holds_its_lock(tmp_path: Path) -> None:
    text = f"# for: curl aioquic==1.2.0\ndeb curl 7.88-1 {HASH}\nwheel aioquic 1.2.0 {HASH}\n"
    (tmp_path / "packages.lock").write_text(text)
    found = scenario(tmp_path, packages=["curl"], python=["aioquic==1.2.0"])
    assert found.machine == Additions(locked=text)
    assert resolve(found) == found  # from now on nothing is looked for


@pytest.mark.parametrize(
    ("machine", "lock", "said"),
    [
        ({"packages": ["curl"]}, None, "machine.lock: .*packages.lock: No such file.*hoplab lock"),
        ({"packages": ["curl"]}, "# for: nginx\n", "is of other packages than are named; make it"),
        ({"packages": ["curl"]}, f"# for: curl\ndeb -o 1 {HASH}\n", "'deb -o 1 .* is no line of a"),
        ({"packages": ["curl"]}, "# for: curl\nsh -c 1 2\n", "machine.lock: packages.lock: 'sh -c"),
        ({"packages": ["curl; rm"]}, None, "machine.packages.0: 'curl; rm'"),
        ({"packages": ["--yes"]}, None, "machine.packages.0: '--yes'"),
        ({"python": ["aioquic"]}, None, "machine.python.0: 'aioquic'"),
        ({"users": ["root"]}, None, "there is a 'root' already"),
        ({"folder": {"/var/x": "www"}}, None, "/var/x: no user 'www'; declare it in users"),
        ({"folder": {"/var/../x": "root"}}, None, "machine.folder"),
        ({"lock": "../lock"}, None, "machine.lock"),
    ],
)
def test_what_cannot_be_is_one_line(
    machine: dict[str, Any], lock: str | None, said: str, tmp_path: Path
) -> None:
    if lock is not None:
        (tmp_path / "packages.lock").write_text(lock)
    with pytest.raises(ScenarioError, match=said) as raised:
        scenario(tmp_path, **machine)
    assert "\n" not in str(raised.value)


def test_only_a_sealed_machine_has_them(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="host = true takes programs of this computer"):
        scenario(tmp_path, {"host": True}, users=["www"])
    with pytest.raises(ScenarioError, match="go into a sealed machine"):
        OwnGuest().equipped(scenario(tmp_path, users=["www"]))


def cached(content: bytes) -> str:
    """A package that needs no network; its SHA-256."""
    sha256 = hashlib.sha256(content).hexdigest()
    packages = store.cache() / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / sha256).write_bytes(content)
    return sha256


def deb(folder: Path, text: str) -> str:
    """A Debian package with a file of each kind, and a script that must not run."""
    tree = folder / "tree"
    for name, content in {
        "usr/bin/tool": text,
        "bin/old": "old",
        "init": "not the machine's",
        "usr/share/doc/tool/copyright": "its licence",
        "usr/share/man/man1/tool.1": "manual",
        "DEBIAN/control": "Package: tool\nVersion: 1\nArchitecture: amd64\nMaintainer: m <m@m.mm>\n"
        "Description: d\n",
        "DEBIAN/preinst": f"#!/bin/sh\ntouch {folder}/ran\n",
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    (tree / "DEBIAN/preinst").chmod(0o755)
    (tree / "usr/bin/tool").chmod(0o755)
    (tree / "usr/bin/link").unlink(missing_ok=True)
    (tree / "usr/bin/link").symlink_to("tool")
    (tree / "var/lib/tool").mkdir(parents=True, exist_ok=True)
    file = folder / "tool.deb"
    subprocess.run(["dpkg-deb", "-b", str(tree), str(file)], check=True, capture_output=True)
    return cached(file.read_bytes())


def wheel() -> str:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(zipfile.ZipInfo("thing/__init__.py"), "x = 1")
        file.writestr(zipfile.ZipInfo("thing-1.dist-info/LICENSE"), "free")
        file.writestr(zipfile.ZipInfo("../../evil"), "evil")
    return cached(content.getvalue())


def files(machine: Machine) -> dict[str, bytes]:
    archived = (machine.folder / equip.NAME).read_bytes()
    return {name: entry.content for name, entry in cpio.load(archived) if entry.content}


def test_a_machine_with_packages_is_another(tmp_path: Path) -> None:
    plain = make(root=ROOT)
    locked = f"# for: tool thing==1\ndeb tool 1 {deb(tmp_path, 'one')}\nwheel thing 1 {wheel()}\n"
    machine = equip.equipped(plain, Additions(locked=locked))
    assert files(machine) == {
        "usr/bin/tool": b"one",
        "usr/bin/old": b"old",  # /bin is a link there
        "usr/bin/link": b"tool",
        f"{equip.SITE}/thing/__init__.py": b"x = 1",
        f"{equip.SITE}/thing-1.dist-info/LICENSE": b"free",
    }
    names = [name for name, _ in cpio.load((machine.folder / equip.NAME).read_bytes())]
    assert "var/lib/tool" in names
    assert not (tmp_path / "ran").exists()
    assert machine.root.read_bytes() == plain.root.read_bytes()
    licences = machine.folder / "licences" / "added"
    assert (licences / "debian" / "tool").read_text() == "its licence"
    assert (licences / "python" / "thing" / "LICENSE").read_text() == "free"
    assert {"deb tool 1", "wheel thing 1"} <= set(machine.packages())
    assert equip.memory_mb(plain) == 0 and equip.memory_mb(machine) == memory.STEP_MB
    # The same packages are the same machine, other octets of one another.
    assert equip.equipped(plain, Additions(locked=locked)).id == machine.id != plain.id
    assert equip.equipped(machine, Additions(locked=locked)).id == machine.id
    assert equip.equipped(plain, Additions()).id == plain.id
    other = f"deb tool 1 {deb(tmp_path, 'two')}\n"
    assert equip.equipped(plain, Additions(locked=other)).id not in (plain.id, machine.id)
    with pytest.raises(MissingTool, match="has other packages than the scenario's lock says"):
        equip.equipped(machine, Additions(locked=other))


def test_a_package_cannot_leave_the_root() -> None:
    for name in ("../evil", "./usr/../../evil", "/..", "."):
        assert equip._place(name) == ""
    assert equip._place("./lib/x/y") == "usr/lib/x/y"


def test_users_and_folders_are_made_in_the_guest() -> None:
    additions = Additions(users=("www", "mqtt"), folder={"/var/log/www": "www", "/srv": "root"})
    assert equip.declared(additions) == [
        "echo www:x:100:100::/:/bin/false >>/etc/passwd",
        "echo www:x:100: >>/etc/group",
        "echo mqtt:x:101:101::/:/bin/false >>/etc/passwd",
        "echo mqtt:x:101: >>/etc/group",
        "mkdir -p /var/log/www && busybox chown www:www /var/log/www",
        "mkdir -p /srv && busybox chown root:root /srv",
    ]
