# SPDX-License-Identifier: Apache-2.0
"""What others wrote: no path in it is followed, no machine of theirs runs unasked, and none of it
ends a command."""

import io
import json
import os
import socket
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hoplab.host.machine import pack, select, store, trust
from hoplab.host.machine.sealed import Machine
from hoplab.host.results import digests
from hoplab.host.results.manifest import VERSION
from hoplab.host.runs import again, launch
from hoplab.many.store import again as stored
from hoplab.many.store import entry as entries
from hoplab.many.store import serve
from hoplab.many.store.files import Store
from hoplab.model.errors import Damaged, HoplabError, MissingTool, ResultsError
from tests.scenarios import of_a_run
from tests.unit.test_machine import make
from tests.unit.test_store import entry

DIGEST = digests.Digests({}, {}).digest
KEY = "ab" + "0" * 62


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, no machine of the user's, and nothing is run."""
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(launch, "perform", lambda *a, **k: pytest.fail("was run"))

    def none() -> Any:
        raise MissingTool("no machine")

    monkeypatch.setattr(select, "chosen", none)


def a_run(folder: Path, **manifest: Any) -> Path:
    folder.mkdir()
    finished = {"version": VERSION, "machine": "uml", "digest": DIGEST, "tables": {}}
    finished |= {"captures": {}, **manifest}
    (folder / "manifest.json").write_text(json.dumps(finished))
    (folder / "scenario.json").write_text(json.dumps(of_a_run()))
    return folder


def test_a_path_in_a_manifest_or_an_entry_is_no_machine(tmp_path: Path) -> None:
    machine = make()
    theirs = machine.folder.rename(tmp_path / "theirs")
    with pytest.raises(ResultsError, match="machine_hash"):
        again.verify(a_run(tmp_path / "run", machine_hash=str(theirs)), print)
    for name in (str(theirs), "../../theirs", machine.id[:8], ""):
        with pytest.raises(MissingTool, match="no machine's identity"):
            store.find(name)
    with pytest.raises(MissingTool):
        stored.machine_of(entry("flows", machine=str(theirs)))


def test_a_machine_of_others_runs_when_the_user_says_so(tmp_path: Path) -> None:
    machine = make()
    run = a_run(tmp_path / "run", machine_hash=machine.id)
    with pytest.raises(MissingTool, match="--trust"):
        again.verify(run, print)
    packed = tmp_path / "run.tar.zst"
    with pack.writing(packed) as tar:
        pack.add_machine(tar, machine, "machine/")
        for name in ("manifest.json", "scenario.json"):
            pack.add(tar, f"run/{name}", (run / name).read_bytes())
    silent = a_run(tmp_path / "silent", machine_hash=None)
    unnamed = tmp_path / "silent.tar.zst"
    with pack.writing(unnamed) as tar:
        pack.add_machine(tar, machine, "machine/")
        for name in ("manifest.json", "scenario.json"):
            pack.add(tar, f"run/{name}", (silent / name).read_bytes())
    # A manifest that keeps silent about the machine does not make it the user's.
    with pytest.raises(MissingTool, match="--trust"):
        again.verify(unnamed, print)
    with pytest.raises(MissingTool, match="--trust"):
        again.verify(packed, print)
    head = {"key": KEY, "machine": machine.id, "evaluation": stored.evaluation()}
    with pytest.raises(MissingTool, match="--trust"):
        stored.make(entry("flows", **head), tmp_path / "out")
    trust.require(machine, "x", given=True)
    trust.require(machine, "x")


def headed(file: Path, *headers: tarfile.TarInfo) -> Path:
    """A pack of headers alone, whose contents are as large as they say and never come."""
    plain = io.BytesIO()
    for header in headers:
        plain.write(header.tobuf(tarfile.GNU_FORMAT))
    file.write_bytes(pa.Codec("zstd").compress(plain.getvalue(), asbytes=True))
    return file


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
)
def test_a_header_of_3_gb_is_refused_unread(
    kind: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 3 << 30
    asked: list[int] = []
    read = tarfile._Stream.read  # type: ignore[attr-defined]

    def watched(stream: Any, size: int | None = None) -> bytes:
        asked.append(size or 0)
        return bytes(read(stream, size))

    monkeypatch.setattr(tarfile._Stream, "read", watched)  # type: ignore[attr-defined]
    with pytest.raises(Damaged, match="is damaged"):
        pack.unpack(headed(tmp_path / "pack", header))
    assert max(asked) <= tarfile.BLOCKSIZE


def test_names_before_names_and_too_much_in_all_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 0
    with pytest.raises(Damaged, match="is damaged"):
        pack.unpack(headed(tmp_path / "pack", *[header] * 2000))
    monkeypatch.setattr(pack, "MOST_MEMBERS", 2)
    pack.pack(make(), tmp_path / "many")
    with pytest.raises(Damaged, match="or 2 files"):
        pack.unpack(tmp_path / "many")


def test_a_name_longer_than_a_header_comes_back(tmp_path: Path) -> None:
    with pack.writing(tmp_path / "pack") as tar:
        pack.add(tar, "a/" + "b" * 150, b"content")
    with pack.reading(tmp_path / "pack") as members:
        assert [(member.name, content.read()) for member, content in members] == [
            ("a/" + "b" * 150, b"content")
        ]


@pytest.mark.parametrize(
    "change",
    [
        {"packages": [1]},
        {"layers": ["x"]},
        {"packages": [{"kind": "a b", "name": "c", "version": "1", "sha256": "0"}]},
        {"packages": [{"kind": "\x1b[2J", "name": "c", "version": "1", "sha256": "0"}]},
        {"layers": [{"name": "x", "offset": 1 << 29, "size": 1, "sha256": "0"}]},
        {"files": {"linux": {"size": float("inf"), "sha256": "0"}, "root.cpio": {}}},
        {"hoplab": 1},
        {"inputs": 3},
    ],
)
def test_a_damaged_machine_is_refused_and_stepped_over(
    change: dict[str, Any], tmp_path: Path
) -> None:
    good = make()
    damaged = store.folder() / ("f" * 64)
    damaged.mkdir()
    (damaged / "machine.json").write_text(json.dumps({**good.description, **change}))
    (store.folder() / ("e" * 64)).mkdir()
    os.mkfifo(store.folder() / ("e" * 64) / "machine.json")
    told: list[str] = []
    assert [machine.id for machine in store.machines(told.append)] == [good.id]
    assert [("f" * 64 in line, "e" * 64 in line) for line in sorted(told)] == [
        (False, True),
        (True, False),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"packages": [1]},
        {"packages": ["x"]},
        {"machine_parts": []},
        {"verdict": {"error": 1}},
        {"tables": {"../x": "0"}},
        {"captures": {"/dev/zero": "0"}},
        {"machine": []},
    ],
)
def test_what_a_manifest_may_not_say(change: dict[str, Any], tmp_path: Path) -> None:
    from hoplab.host import results

    run = a_run(tmp_path / "run", **change)
    with pytest.raises(ResultsError, match="is no run's manifest"):
        again.verify(run, print)
    with pytest.raises(ResultsError, match="is no run's manifest"):
        results.load(run)


def test_a_pipe_in_a_manifests_place(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")
    with pytest.raises(ResultsError, match="no regular file"):
        again.verify(run, print)


@pytest.mark.parametrize(
    "change",
    [{"scenario": [1]}, {"digests": []}, {"machine": 1}, {"made": 1}, {"error": 3}],
)
def test_what_an_entry_may_not_say(change: dict[str, Any]) -> None:
    good = entry("flows")
    forged = entries.pack(good)
    assert entries.unpack(forged, "x").key == KEY
    head = {**good.head, "tables": {}, **change}
    with pytest.raises((ResultsError, AttributeError, KeyError)) as caught:
        entries.unpack(entries.pack(entries.Entry(head)), "x")
    assert caught.type is ResultsError


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_other_things_in_an_entrys_place_are_stepped_over(kind: str, tmp_path: Path) -> None:
    place = Store(tmp_path / "store")
    other = "cd" + "0" * 62
    place.put(entry("flows", key=other))
    path = place.path(KEY)
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        (path / "deeper").mkdir(parents=True)
    else:
        path.symlink_to("/dev/zero")
    assert list(place) == [KEY, other]
    assert place.get(KEY) is None
    place.put(entry("flows"))
    assert place.get(KEY) is not None
    assert len(list(place.leftovers(0.0))) == 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[serve.Server]:
    folder = tmp_path / "sweep"
    (folder / "runs").mkdir(parents=True)
    (folder / "index.html").write_text("the page")
    (folder / ".hidden.html").write_text("secret")
    (folder / "results").write_text("not meant")
    (folder / "linked.html").symlink_to("/etc/passwd")
    (folder / "below").symlink_to("/etc")
    os.mkfifo(folder / "pipe.html")
    made = serve.Server(Store(tmp_path / "store"), folder, 0)
    made.start()
    yield made
    made.close()


def answer(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_sweeps_page_is_for_who_has_its_address(server: serve.Server) -> None:
    bare = server.url.rsplit("/", 2)[0]
    assert answer(server.url) == (200, "the page")
    assert answer(f"{bare}/")[0] == 403
    assert answer(f"{bare}/index.html")[0] == 403
    for method in ("GET", "HEAD"):
        assert answer(server.url, method, Host="evil.example")[0] == 403
        assert answer(server.url, method, Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize(
    "name",
    [
        *(".hidden.html", "linked.html", "below/passwd", "pipe.html", "results", "runs/", "runs"),
        *("%00", "a%00.html", "..%2f..%2fetc%2fpasswd", "runs/..%2findex.html", "%ff.html"),
        *("runs/" + "0" * 16 + "/report.html", "runs/..%2f..%2fx/report.html"),
    ],
)
def test_a_sweeps_page_has_nothing_but_its_files(
    name: str, server: serve.Server, capfd: pytest.CaptureFixture[str]
) -> None:
    status, text = answer(server.url + name)
    assert status == 404
    assert "root:" not in text and "secret" not in text
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("port", [99999, -1])
def test_no_port_is_told_in_a_line(port: int, tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    with pytest.raises(HoplabError, match=f"port {port}: is no port"):
        serve.Server(Store(tmp_path), tmp_path, port)


def test_a_port_that_is_taken_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HoplabError, match=f"port {port}: cannot be used"):
            serve.Server(Store(tmp_path), tmp_path, port)


def test_programs_of_others_ask_where_nothing_confines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even on this user's own machine, each time."""
    machine = Machine(Path(), "0" * 64, {})
    monkeypatch.setattr(store, "is_trusted", lambda machine: True)
    monkeypatch.setattr(store, "trust", lambda machine: None)
    for mode, refused in (("landlock", False), ("namespace", False), ("none", True)):
        monkeypatch.setattr(trust.confined, "confinement", lambda mode=mode: mode)
        trust.require(machine, "x")
        if not refused:
            trust.require(machine, "x", programs=True)
            continue
        for _ in range(2):
            with pytest.raises(MissingTool, match=r"x: has programs of others: .*--trust"):
                trust.require(machine, "x", programs=True)
            trust.require(machine, "x", given=True, programs=True)
