# SPDX-License-Identifier: Apache-2.0
"""Machines with another kernel by name: what changes in them, in sweeps, and for git bisect."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hoplab.front.commands import bisect, machine
from hoplab.front.commands.cli import command
from hoplab.host.machine import cpio, kernels, sealed, select, store
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.kernels import DoesNotBuild, Machines, Wanted
from hoplab.host.machine.sealed import Machine
from hoplab.host.runs.launch import RunRequest
from hoplab.many.store.files import Store
from hoplab.many.sweep.estimate import estimate
from hoplab.many.sweep.points import read
from hoplab.model.errors import GuestFailed, HoplabError, MissingTool, ScenarioError

SCENARIO = """
duration_s = 5
[topology]
kind = "chain"
stations = 2
[[flow]]
source = "n0"
destination = "n1"
"""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without a real kernel, which runs take."""
    base = cpio.dump({"etc/hosts": Entry.file(b"127.0.0.1 localhost\n")})
    daemons = {
        "usr/bin/hoplab-dsr": Entry.file(b"dsr", executable=True),
        "usr/lib/modules/tcp_old.ko": Entry.file(b"old"),
    }
    layers = {"base": base, "daemons": cpio.dump(daemons)}
    contents = {
        "linux": b"kernel 6.12",
        "root.cpio": b"".join(layers.values()),
        "kernel/config": b"CONFIG_OLD=y\n",
        "modules/tcp_old.ko": b"old",
        kernels.ENGINE: b"engine",
    }
    offset, described = 0, []
    for name, content in layers.items():
        size = len(content)
        described.append({"name": name, "offset": offset, "size": size, "sha256": digest(content)})
        offset += size
    with store.new_folder() as folder:
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        description = {
            "format": 1,
            "architecture": "x86_64",
            "hoplab": "1",
            "files": {n: {"size": len(c), "sha256": digest(c)} for n, c in contents.items()},
            "layers": described,
            "inputs": {"kernel": "old"},
            "packages": [
                {"kind": "deb", "name": "iperf3", "version": "3.12", "sha256": "0"},
                {"kind": "kernel", "name": "linux-source-6.12", "version": "6.12", "sha256": "0"},
            ],
        }
        made = store.adopt(folder, description)
    monkeypatch.setattr(select, "chosen", lambda file=None: made)
    return made


def result(place: Path, version: str = "6.19.3", engine: bytes = b"engine") -> Path:
    """What a build of a kernel leaves."""
    (place / "modules").mkdir(parents=True)
    (place / "own").mkdir()
    (place / "linux").write_bytes(f"kernel {version}".encode())
    (place / "config").write_text("CONFIG_NEW=y\n")
    (place / "modules" / "tcp_new.ko").write_bytes(b"new")
    (place / "own" / "fix.patch").write_text("patch")
    facts = {
        "version": version,
        "source": {"kind": "tree", "name": "net-next", "sha256": "git:00"},
        "engine": digest(engine),
        "tiers": ["time"],
        "without": {},
    }
    (place / "kernel.json").write_text(json.dumps(facts))
    (place / "made-from").write_text(f"kernel net-next git:00 {version}\ncompiler gcc - gcc 12\n")
    return place


@pytest.fixture
def built(own: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A build that leaves `result`; yields its command lines."""
    calls: list[Any] = []
    folder = tmp_path / "kernels"

    def run(command: Sequence[str], say: object) -> Path:
        calls.append(list(command[2:]))
        if "--print-path" in command:
            return folder / str(command[command.index("--kernel") + 1])
        place = folder / f"{len(list(folder.glob('*')))}"
        return result(place)

    monkeypatch.setattr(kernels, "_run", run)
    monkeypatch.setattr(kernels.kernel, "fetch", lambda release, lock: calls.append(release))
    yield calls


def test_a_kernel_of_ones_own_makes_another_machine(
    own: Machine, built: list[Any], tmp_path: Path
) -> None:
    """It has the kernel, its modules and its configuration, and is else the same."""
    fix = tmp_path / "fix.patch"
    made = kernels.build(own, Wanted(patches=(fix,)), "fix", print)
    assert built == ["6.12", ["--patch", str(fix)]]
    assert made.id != own.id and made.kernel.read_bytes() == b"kernel 6.19.3"
    assert made.layer("base") == own.layer("base")
    root = dict(cpio.load(made.root.read_bytes()))
    assert root["usr/lib/modules/tcp_new.ko"].content == b"new"
    assert "usr/lib/modules/tcp_old.ko" not in root and root["usr/bin/hoplab-dsr"].mode & 0o100
    assert made.files.keys() - own.files.keys() == {"modules/tcp_new.ko", "kernel/own/fix.patch"}
    assert own.files.keys() - made.files.keys() == {"modules/tcp_old.ko"}
    assert "kernel net-next 6.19.3" in made.packages()
    assert made.description["kernel"]["version"] == "6.19.3"
    for name in made.files:
        sealed.check_file(made, name)
    assert kernels.named(own, "fix").id == made.id
    assert Machines(own).of("fix").id == made.id and Machines(own).of(None) is own


def test_the_default_kernel_is_the_machine_itself(own: Machine, built: list[Any]) -> None:
    assert kernels.named(own, "6.12") is own


def test_a_kernel_of_the_lock_goes_by_its_version(
    own: Machine, built: list[Any], tmp_path: Path
) -> None:
    with pytest.raises(
        MissingTool, match=r"is not built; run 'hoplab machine build --kernel 7\.3'"
    ):
        kernels.named(own, "7.3")
    assert kernels.names(own) == ["6.12"]
    result(tmp_path / "kernels" / "7.3", "7.3.4")
    assert kernels.named(own, "7.3").description["kernel"]["version"] == "7.3.4"
    assert kernels.names(own) == ["6.12", "7.3"]


@pytest.mark.parametrize(
    ("wanted", "name", "told"),
    [
        (Wanted("5.4"), "old", "--kernel: 5.4 is not in the lock; one of: 6.12, 7.3"),
        (Wanted(), "uml", "--name: 'uml' is no name for a machine"),
        (Wanted(), "a/b", "--name: 'a/b' is no name for a machine"),
        (Wanted(source=Path("x")), "7.3", "--name: 7.3 is a kernel of the lock; take another"),
        (Wanted("7.3"), "6.12", "--name: 6.12 is a kernel of the lock; take another"),
    ],
)
def test_a_machine_that_cannot_be_built(
    own: Machine, built: list[Any], wanted: Wanted, name: str, told: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        kernels.build(own, wanted, name, print)
    assert str(error.value).startswith(told)
    assert not built


def test_a_name_that_is_not_there(own: Machine, built: list[Any]) -> None:
    kernels.build(own, Wanted(source=Path("x")), "mine", print)
    for name in ("other", "../../etc/passwd"):
        with pytest.raises(MissingTool) as error:
            kernels.named(own, name)
        assert "there is none of that name here; one of: 6.12, mine" in str(error.value)


def test_a_kernel_with_the_medium_of_another_version(
    own: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its engine and the daemons of the root would not speak of the same."""
    place = result(tmp_path / "old", engine=b"older engine")
    monkeypatch.setattr(kernels, "_run", lambda command, say: place)
    with pytest.raises(MissingTool) as error:
        kernels.build(own, Wanted(source=tmp_path), "mine", print)
    again = f"'hoplab machine build --source {tmp_path} --name mine'"
    assert str(error.value).endswith(f"has the medium of another version of hoplab; {again}")


@pytest.mark.parametrize(("status", "kind"), [(3, MissingTool), (125, DoesNotBuild)])
def test_the_last_line_of_a_failed_build_is_its_error(status: int, kind: type) -> None:
    said: list[str] = []
    script = f"echo compiling >&2; echo 'it failed' >&2; exit {status}"
    with pytest.raises(kind, match=r"^it failed$") as error:
        kernels._run(["sh", "-c", script], said.append)
    assert type(error.value) is kind and said == ["compiling"]
    done = ["sh", "-c", "echo compiling >&2; echo /a/b"]
    assert kernels._run(done, said.append) == Path("/a/b") and said == ["compiling"] * 2


def test_machines_are_an_axis_of_a_sweep(own: Machine, built: list[Any], tmp_path: Path) -> None:
    """The same scenarios under the same seeds, on each of them."""
    made = kernels.build(own, Wanted(source=tmp_path), "mine", print)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    file = tmp_path / "sweep.toml"
    file.write_text('seeds = 2\n[[axis]]\nkey = "machine"\nvalues = ["6.12", "mine"]\n')
    points = list(read(file).points())
    assert [(p.machine, p.seed) for p in points] == [
        *(("6.12", 1), ("6.12", 2)),
        *(("mine", 1), ("mine", 2)),
    ]
    assert points[0].scenario() == points[2].scenario()
    assert points[2].parameters == {"machine": "mine"}
    machines = Machines(own)
    assert [machines.of(p.machine).id for p in points] == [own.id, own.id, made.id, made.id]
    assert estimate(read(file), Store(tmp_path / "store"), own, ()).runs == 4
    file.write_text('[[axis]]\nkey = "machine"\nvalues = ["none"]\n')
    with pytest.raises(MissingTool, match="there is none of that name"):
        estimate(read(file), Store(tmp_path / "store"), own, ())


def test_a_run_names_one_machine(own: Machine, built: list[Any], tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    for words, told in (
        (["--machine", "6.12", "--machine-file", "x"], "--machine-file: is a machine already"),
        (["--machine", "vbox"], "machine 'vbox': there is none of that name here"),
    ):
        with pytest.raises(HoplabError) as error:
            run("run", str(tmp_path / "scenario.toml"), *words)
        assert str(error.value).startswith(told)


def run(*words: str) -> int:
    """Status of a command."""
    return int(command()(args=list(words), standalone_mode=False) or 0)


@pytest.mark.parametrize(
    ("happens", "status"),
    [
        (350.0, 0),
        (250.0, 1),
        (GuestFailed("guest kernel: panicked"), 1),
        (DoesNotBuild("net/ipv4/tcp.c:7:3: error: no"), 125),
        (MissingTool("gcc is missing"), 131),
        (ScenarioError("--name: is none"), 130),
    ],
)
def test_bisection_goes_by_the_status(
    own: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    happens: float | HoplabError,
    status: int,
) -> None:
    """0 good, 1 bad, 125 a commit that does not build, from 128 on nothing that a commit does."""
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.chdir(tree)

    def build(own: Machine, wanted: Wanted, name: str, say: object) -> Machine:
        if isinstance(happens, HoplabError) and not isinstance(happens, GuestFailed):
            raise happens
        return own

    def perform(request: RunRequest) -> None:
        if isinstance(happens, HoplabError):
            raise happens

    class Results:
        def rows(self, table: str) -> list[dict[str, Any]]:
            return [{"flow": "flow0", "goodput_kbps": happens}]

    monkeypatch.setattr(kernels, "build", build)
    monkeypatch.setattr(bisect, "perform", perform)
    monkeypatch.setattr(bisect.results, "load", lambda out: Results())
    words = ["bisect", str(tmp_path / "scenario.toml"), "--expect", "goodput_kbps > 300"]
    assert run(*words) == status
    # A file in the tree would make another kernel of it.
    assert not list(tree.iterdir())


def test_a_condition_that_bisection_cannot_judge(own: Machine, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    for words in (
        [],
        ["--expect", "goodput > 300"],
        ["--expect", "goodput_kbps > 1", "--flow", "x"],
    ):
        assert run("bisect", str(tmp_path / "scenario.toml"), *words) > 127


def test_machine_build_names_what_it_made(
    own: Machine, built: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("machine", "build", "--source", str(tmp_path))
    made = kernels.named(own, tmp_path.name)
    told = f"{tmp_path.name}: machine {made.id[:16]}, kernel 6.19.3\n"
    assert capsys.readouterr().out == told
    assert machine._described("x", own) == f"x: machine {own.id[:16]}, kernel ?"


def test_a_kernel_of_the_lock_and_a_tree_are_one_too_many(own: Machine, tmp_path: Path) -> None:
    wanted = Wanted(release="6.12", source=tmp_path)
    with pytest.raises(ScenarioError, match=r"^--kernel 6.12, --source .*: give one of them; "):
        kernels.build(own, wanted, "mine", print)


def test_an_interrupted_build_ends_with_its_compilers(tmp_path: Path) -> None:
    """Make's own children would otherwise compile on, for up to half an hour."""
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    compiles = f"exec 3>{alive}; sleep 1000 & echo one >&2; echo two >&2; wait"

    def interrupted(line: str) -> None:
        raise KeyboardInterrupt(line)

    try:
        with pytest.raises(KeyboardInterrupt, match="one"):
            kernels._run(["sh", "-c", compiles], interrupted)
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""  # nobody holds the other end any more
    finally:
        os.close(reader)
