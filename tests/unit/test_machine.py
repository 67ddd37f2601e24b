# SPDX-License-Identifier: Apache-2.0
"""Machines as files: the same bytes from the same parts, and nothing believed of a foreign one."""

import hashlib
import io
import json
import random
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hoplab.host.machine import adopt, archive, assemble, compare, cpio, pack, sealed, store
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.sealed import Machine
from hoplab.model.errors import Damaged, MissingTool
from hoplab.model.resources import PROJECT

ROOT = {
    "init": Entry.file(b"#!/bin/sh\n", executable=True),
    "usr/bin/python3": Entry.link("python3.11"),
    "etc/hosts": Entry.file(b"127.0.0.1 localhost\n"),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))


def make(**changes: Any) -> Machine:
    """A machine without a real kernel."""
    root = cpio.dump(changes.pop("root", ROOT))
    contents = {"linux": b"\x7fELF kernel", "root.cpio": root, "licences/linux": b"GPL-2"}
    with store.new_folder() as folder:
        for name, content in contents.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        description = {
            "format": 1,
            "architecture": "x86_64",
            "hoplab": "1",
            "files": {
                name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in contents.items()
            },
            "layers": [{"name": "base", "offset": 0, "size": len(root), "sha256": "0"}],
            "packages": [{"kind": "deb", "name": "iperf3", "version": "3.12", "sha256": "0"}],
            **changes,
        }
        return store.adopt(folder, description)


def forged(file: Path, machine: Machine, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """A pack with a genuine description and other members after it."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        pack.add(tar, "machine.id", machine.id.encode())
        pack.add(tar, "machine.json", (machine.folder / "machine.json").read_bytes())
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    file.write_bytes(pa.Codec("zstd").compress(plain.getvalue(), asbytes=True))
    return file


def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Another user's empty cache."""
    cache = tmp_path / "elsewhere"
    monkeypatch.setenv("HOPLAB_CACHE", str(cache))
    return cache


def test_a_root_is_written_and_read() -> None:
    archived = cpio.dump(ROOT)
    found = dict(cpio.load(archived + cpio.dump({"other": Entry.file(b"x")})))
    folders = dict.fromkeys(("etc", "usr", "usr/bin"), Entry.folder())
    assert found == {**ROOT, **folders, "other": Entry.file(b"x")}
    assert cpio.dump(dict(reversed(ROOT.items()))) == archived


def test_a_root_has_no_owner_and_date_of_its_files(tmp_path: Path) -> None:
    trees = []
    for name, mode in (("one", 0o700), ("other", 0o755)):
        (tmp_path / name / "bin").mkdir(parents=True)
        program = tmp_path / name / "bin" / "program"
        program.write_bytes(b"x")
        program.chmod(mode)
        trees.append(cpio.from_tree(tmp_path / name))
    assert trees[0] == trees[1]
    assert stat.S_IMODE(trees[0]["bin/program"].mode) == 0o755


def test_the_same_machine_gives_the_same_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = make()
    pack.pack(machine, tmp_path / "one")
    elsewhere(monkeypatch, tmp_path)
    again = pack.unpack(tmp_path / "one")
    pack.pack(again, tmp_path / "other")
    assert again.id == machine.id
    assert again.folder != machine.folder
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert again.kernel.stat().st_mode & 0o111


def test_what_is_cut_or_altered_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = make()
    pack.pack(machine, tmp_path / "pack")
    whole = (tmp_path / "pack").read_bytes()
    cache = elsewhere(monkeypatch, tmp_path)
    draw = random.Random(1)
    refused = 0
    for trial in range(200):
        if trial % 2:
            hurt = whole[: draw.randrange(len(whole))]
        else:
            at = draw.randrange(len(whole))
            hurt = whole[:at] + bytes([whole[at] ^ (1 << draw.randrange(8))]) + whole[at + 1 :]
        (tmp_path / "hurt").write_bytes(hurt)
        try:
            found = pack.unpack(tmp_path / "hurt")
        except Damaged as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            # What no hash covers: Zstandard's headers and a tar archive's padding.
            assert found.id == machine.id
        assert not list(store.folder().glob("new-*"))
    assert refused > 150
    assert cache.exists()


HOSTILE: list[tuple[str, Callable[[tarfile.TarInfo], None]]] = [
    ("../../escaped", lambda member: None),
    ("/tmp/escaped", lambda member: None),
    ("licences/../../escaped", lambda member: None),
    ("unknown", lambda member: None),
    ("linux", lambda member: setattr(member, "type", tarfile.SYMTYPE)),
    ("linux", lambda member: setattr(member, "type", tarfile.LNKTYPE)),
    ("linux", lambda member: setattr(member, "type", tarfile.CHRTYPE)),
    ("linux", lambda member: setattr(member, "type", tarfile.FIFOTYPE)),
    ("linux", lambda member: setattr(member, "type", tarfile.DIRTYPE)),
]


@pytest.mark.parametrize(("name", "change"), HOSTILE)
def test_a_hostile_pack_writes_nothing(
    name: str,
    change: Callable[[tarfile.TarInfo], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    member = tarfile.TarInfo(name)
    member.linkname = "/etc/passwd"
    change(member)
    file = forged(tmp_path / "pack", make(), (member, b"" if member.type != b"0" else b"x"))
    cache = elsewhere(monkeypatch, tmp_path)
    with pytest.raises(Damaged, match="is damaged"):
        pack.unpack(file)
    assert list(cache.rglob("*")) == [cache / "machines"]
    assert not list(tmp_path.rglob("escaped"))


def test_a_file_larger_than_told_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = forged(tmp_path / "pack", make(), (tarfile.TarInfo("linux"), bytes(1 << 20)))
    elsewhere(monkeypatch, tmp_path)
    with pytest.raises(Damaged, match="linux has not the bytes"):
        pack.unpack(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": "aarch64"}, "is a machine for 'aarch64', not for x86_64"),
        ({"format": 2}, "is a machine of format 2, this hoplab knows 1"),
        ({"files": {}}, "is damaged"),
        ({"files": {"linux": {"size": -1, "sha256": ""}}}, "is damaged"),
        ({"layers": 3}, "is damaged"),
    ],
)
def test_another_kind_of_machine_is_refused(change: dict[str, Any], message: str) -> None:
    description = {**make().description, **change}
    error = Damaged if message == "is damaged" else MissingTool
    with pytest.raises(error, match=message):
        sealed.parse(json.dumps(description).encode(), "pack")


def test_a_machine_that_was_changed_is_not_run(tmp_path: Path) -> None:
    machine = make()
    sealed.check(machine, tmp_path / "stamps")
    content = bytearray(machine.root.read_bytes())
    content[200] ^= 1
    machine.root.write_bytes(content)
    with pytest.raises(Damaged, match=r"root\.cpio in .* was changed"):
        sealed.check(machine, tmp_path / "stamps")


def test_machines_are_told_apart() -> None:
    one = make()
    other = make(
        root={**ROOT, "etc/hosts": Entry.file(b"")},
        packages=[{"kind": "deb", "name": "iperf3", "version": "3.18", "sha256": "1"}],
    )
    assert one.id != other.id
    lines = list(compare.of_machines(one, other))
    assert "deb iperf3: 3.12 and 3.18" in lines
    assert "/etc/hosts: differs" in lines
    assert list(compare.of_machines(one, one)) == []


def test_a_machine_is_found_by_the_first_digits_of_its_hash() -> None:
    machine = make()
    assert store.named(machine.id[:8]).id == machine.id
    assert store.named(str(machine.folder)).id == machine.id
    with pytest.raises(MissingTool, match="is no machine here"):
        store.named("nothing")


def test_a_kernel_is_taken_only_where_it_is_made_from_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = [{"kind": "kernel", "name": "linux", "version": "6 x", "sha256": "0"}]
    machine = make(inputs={"kernel": "abc-def"}, packages=packages)
    (machine.folder / "kernel").mkdir()
    (machine.folder / "kernel" / "config").write_bytes(b"")
    monkeypatch.setenv("HOPLAB_MACHINE", str(machine.folder))
    assert not adopt.adopt(tmp_path / "abc-other")
    assert adopt.adopt(tmp_path / "abc-def")
    assert (tmp_path / "abc-def" / "linux").read_bytes() == machine.kernel.read_bytes()
    assert (tmp_path / "abc-def" / "made-from").read_text() == "kernel linux 0 6 x\n"


def test_the_lock_has_every_package_of_the_list() -> None:
    listed = set()
    for line in (PROJECT / "locks" / "machine.packages").read_text().splitlines():
        kind, *names = line.partition("#")[0].split() or [""]
        listed |= {(kind, name) for name in names}
    locked = archive.read_lock(PROJECT / "locks" / "machine.lock")
    assert {(package.kind, package.name) for package in locked} == listed
    assert all(len(package.sha256) == 64 for package in locked)


def test_host_and_machine_have_the_same_python_packages() -> None:
    lines = (PROJECT / "locks" / "python.txt").read_text().splitlines()
    host = dict(line.split(" ")[0].split("==") for line in lines if "==" in line)
    for package in archive.read_lock(PROJECT / "locks" / "machine.lock"):
        assert package.kind != "wheel" or host[package.name] == package.version


def test_a_guest_has_the_layers_that_run_there_and_no_other() -> None:
    names = [path.relative_to(PROJECT).as_posix() for path in assemble.lab_files()]
    assert {name.split("/")[1] for name in names} == {"model", "guest"}
    assert {"hoplab/guest/lab/__main__.py", "hoplab/model/records/schema.toml"} <= set(names)


def test_a_lock_that_the_archive_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest packages are taken, said, and kept to until the committed lock changes."""
    committed = tmp_path / "locks" / "machine.lock"
    committed.parent.mkdir()
    committed.write_text("deb iw 1 00\n")
    monkeypatch.setattr(assemble, "PROJECT", tmp_path)
    monkeypatch.setattr(assemble, "LOCK", committed)

    def fetch(lock: Path, cache: Path) -> dict[archive.Package, Path]:
        (package,) = archive.read_lock(lock)
        if package.version == "1":
            raise archive.Superseded("iw 1: is gone")
        return {package: cache / package.name}

    monkeypatch.setattr(archive, "fetch", fetch)
    monkeypatch.setattr(
        assemble.relock, "make", lambda lock, *sources: lock.write_text("deb iw 2 00\n")
    )
    before = assemble.base_key()
    assert [package.version for package in assemble._fetch(committed)] == ["2"]
    assert "Taking the newest instead" in capsys.readouterr().err
    assert assemble.base_key() != before
    assert [package.version for package in assemble._fetch(committed)] == ["2"]
    assert capsys.readouterr().err == ""
    committed.write_text("deb iw 3 00\n")
    assert assemble.lock(committed) == committed
