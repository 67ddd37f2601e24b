# SPDX-License-Identifier: Apache-2.0
"""The build of kernels on made-up small trees: which patches, which tree, which mistakes."""

import dataclasses
import errno
import fcntl
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoplab.host.machine import archive, kernel
from hoplab.model.resources import KERNEL_BUILD, PROJECT

sys.path.insert(0, str(KERNEL_BUILD.parent))
from building import Failed, Refused, compiled, finished, kernels, series, source
from building.__main__ import look_everywhere, main
from building.laid import Folder

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 19\nSUBLEVEL = 3\nEXTRAVERSION = -rc1\n"
PATCH = """\
What it is for.

--- a/{file}
+++ b/{file}
@@ -1,3 +1,3 @@
 one
-{old}
+{new}
 three
"""
SERIES = """
default = "6.12"
oldest = "6.12"
[tiers.time]
needed = true
[tiers.wifi]
needed = false
[[patch]]
name = "clock"
tier = "time"
kernels = ["6.12", "7.2"]
[[patch]]
name = "radio"
tier = "wifi"
kernels = ["6.12"]
[[patch]]
name = "late"
tier = "time"
kernels = ["7.2"]
"""
FAKE_MAKE = """
tinyconfig:
\t@echo CONFIG_ONE=y >.config
olddefconfig:
\t@true
linux:
\t@echo "  CC      net/ipv4/tcp.o"
\t@echo "net/ipv4/tcp.c:7:3: error: expected ';' before 'return'"
\t@echo "make[3]: *** [scripts/Makefile.build:229: net/ipv4/tcp.o] Error 1"; false
modules:
"""


@pytest.fixture
def small(tmp_path: Path) -> series.Series:
    """A series of three patches."""
    folder = tmp_path / "guest"
    (folder / "hooks").mkdir(parents=True)
    (folder / "fragments").mkdir()
    (folder / "series.toml").write_text(SERIES)
    for name, file, old, new in (
        ("clock", "time.c", "two", "2"),
        ("clock-7.2", "time.c", "two", "two of 7.2"),
        ("radio", "net/wifi.c", "two", "zwei"),
        ("late", "late.c", "two", "deux"),
    ):
        text = PATCH.format(file=file, old=old, new=new)
        (folder / "hooks" / f"{name}.patch").write_text(text)
    return series.read(folder)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that looks like a kernel's."""
    folder = tmp_path / "my tree"
    for path, text in (
        ("Makefile", MAKEFILE),
        ("Kconfig", ""),
        ("arch/um/Kconfig", ""),
        ("arch/x86/um/Makefile", ""),
        ("time.c", "one\ntwo\nthree\n"),
        ("late.c", "one\ntwo\nthree\n"),
        ("net/wifi.c", "one\ntwo\nthree\n"),
        ("net/tcp.c", "tcp\n"),
        (".gitignore", "*.o\n"),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "link").symlink_to("Makefile")
    return folder


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


def git(folder: Path, *command: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *command], check=True, capture_output=True
    )
    return done.stdout.decode().strip()


def test_the_series_names_every_patch_and_no_other() -> None:
    known = series.read()
    files = {path.name for path in (KERNEL_BUILD.parent / "hooks").iterdir()}
    named: set[str] = set()
    earlier: set[str] = set()
    for row in known.rows:
        assert row["tier"] in known.needed
        assert row["origin"] in ("fault", "hoplab") and row["purpose"]
        assert set(row.get("needs", [])) <= earlier  # type: ignore[call-overload]
        earlier.add(str(row["name"]))
        kernels_of = row["kernels"]
        assert isinstance(kernels_of, list)
        assert [*map(series.version, kernels_of)] == sorted(map(series.version, kernels_of))
        first = f"{row['name']}.patch"
        named |= {first, *(f"{row['name']}-{version}.patch" for version in kernels_of[1:])}
    assert named == files


def copies(kernel: str) -> list[str]:
    found = [patch.file.name for patch in series.read().patches(series.version(kernel))]
    return [name for name in found if name.startswith("copies")]


def test_a_variant_of_a_patch_may_be_for_kernels_up_to_a_version() -> None:
    assert copies("6.12") == ["copies.patch"]
    assert copies("6.13") == copies("7.1") == []
    assert copies("7.2") == copies("7.3") == ["copies-7.2.patch"]


@pytest.mark.parametrize("name", source.locked())
def test_the_hooks_that_every_run_needs_are_few_lines(name: str) -> None:
    """What they call is in C files, so that a newer kernel asks for little work."""
    known = series.read()
    needed = [patch for patch in known.patches(series.version(name)) if known.needed[patch.tier]]
    assert sum(len(patch.file.read_text().splitlines()) for patch in needed) < 500


def test_what_hooks_include_is_there_and_nothing_else() -> None:
    folder = KERNEL_BUILD.parent
    own = compiled.own_files()
    headers = {place for place in own if place.startswith(compiled.HEADERS)}
    texts = [*own.values(), *(folder / "hooks").iterdir()]
    included = set(re.findall(r"#include <(hoplab/\w+\.h)>", "".join(p.read_text() for p in texts)))
    assert {f"include/{name}" for name in included} == headers
    objects = {f"{Path(place).stem}.o" for place in own.keys() - headers if place.endswith(".c")}
    assert set(re.findall(r"\w+\.o", (folder / "c" / "Kbuild").read_text())) == objects


def test_a_patch_that_mends_a_fault_could_be_sent() -> None:
    """It has a subject as the kernel's commits have, then symptom, cause and fix."""
    known = series.read()
    faults = {str(row["name"]) for row in known.rows if row["origin"] == "fault"}
    for name in source.locked():
        for patch in known.patches(series.version(name)):
            head = patch.file.read_text().partition("\n--- a/")[0].partition("\n")[2]
            subject, *paragraphs = head.strip().split("\n\n")
            assert "See the comment" not in head
            if patch.name in faults:
                assert re.fullmatch(r"(um|wifi): .*[^.]", subject) and len(subject) <= 75, (
                    patch.file
                )
                assert len(paragraphs) >= 3, patch.file


def test_the_lock_has_the_kernels_of_the_list() -> None:
    listing = (PROJECT / "locks" / "kernels.packages").read_text()
    (line,) = (line for line in listing.splitlines() if line.startswith("deb "))
    locked = source.locked()
    assert [f"linux-source-{name}" for name in locked] == line.split()[1:]
    assert kernel.default() == series.read().default in locked
    (suites,) = (line for line in listing.splitlines() if line.startswith("suites "))
    assert archive.suites_of(kernel.LOCK.read_text()) == tuple(suites.split()[1:])


def test_a_lock_asks_its_own_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = tmp_path / "keyring"
    keyring.touch()
    monkeypatch.setattr(archive, "KEYRING", keyring)
    monkeypatch.setattr(archive.shutil, "which", lambda tool: tool)
    archive.Apt(tmp_path / "a", None, ("bookworm-security", "trixie-backports"))
    lines = (tmp_path / "a" / "sources.list").read_text().splitlines()
    assert lines[0].endswith("http://deb.debian.org/debian-security bookworm-security main")
    assert lines[1].endswith("http://deb.debian.org/debian trixie-backports main")
    archive.Apt(tmp_path / "b", "20261121T162045Z", ("trixie-backports",))
    (line,) = (tmp_path / "b" / "sources.list").read_text().splitlines()
    assert "check-valid-until=no" in line
    assert line.endswith(
        "snapshot.debian.org/archive/debian/20261121T162045Z trixie-backports main"
    )


def test_only_the_named_package_of_a_lock_is_fetched(tmp_path: Path) -> None:
    content = b"source"
    sha256 = hashlib.sha256(content).hexdigest()
    (tmp_path / sha256).write_bytes(content)
    lock = tmp_path / "lock"
    lock.write_text(f"deb linux-source-6.12 1 {'0' * 64}\ndeb linux-source-7.3 2 {sha256}\n")
    found = archive.fetch(lock, tmp_path, {"linux-source-7.3"})
    assert [package.version for package in found] == ["2"]


def test_a_kernel_takes_the_newest_variant_that_is_not_newer(small: series.Series) -> None:
    def names(version: tuple[int, int]) -> list[str]:
        return [patch.file.stem for patch in small.patches(version)]

    assert names((6, 12)) == names((7, 1)) == ["clock", "radio"]
    assert names((7, 2)) == names((7, 10)) == ["clock-7.2", "radio", "late"]
    for name in ("10-a.config", "10-a-7.2.config", "20-b.config"):
        (small.folder / "fragments" / name).touch()
    assert [path.name for path in small.fragments((7, 0))] == ["10-a.config", "20-b.config"]
    assert len(small.fragments((7, 2))) == 3


def test_patches_apply_in_order_and_without_fuzz(small: series.Series, tmp_path: Path) -> None:
    files = {"time.c": b"one\ntwo\nthree\n", "net/wifi.c": b"one\ntwo\nthree\n"}
    own = tmp_path / "fix.patch"
    own.write_text(PATCH.format(file="time.c", old="2", new="mine"))
    found = series.patched(small, (6, 12), files.get, [own])
    assert found.content == {"time.c": b"one\nmine\nthree\n", "net/wifi.c": b"one\nzwei\nthree\n"}
    assert found.tiers == ["time", "wifi"] and not found.left_out
    # With fuzz the hunk would fit.
    almost = {**files, "time.c": b"eins\ntwo\nthree\n"}
    with pytest.raises(Refused) as refused:
        series.patched(small, (6, 12), almost.get)
    told = str(refused.value)
    assert told.startswith("clock.patch (tier time) does not apply to time.c of kernel 6.12: ")
    assert "FAILED" in told and "\n" not in told


def test_a_tier_that_is_not_needed_is_left_out(small: series.Series) -> None:
    files = {"time.c": b"one\ntwo\nthree\n"}
    found = series.patched(small, (6, 12), files.get)
    assert found.tiers == ["time"]
    assert found.left_out == {"wifi": "radio.patch does not apply to net/wifi.c"}
    with pytest.raises(Refused, match=r"radio\.patch \(tier wifi\) does not apply"):
        series.patched(small, (6, 12), files.get, whole=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            PATCH.format(file="net/none.c", old="two", new="2"),
            "fix.patch does not apply to net/none.c",
        ),
        ("hello\n", "fix.patch: is no patch, as 'git diff' writes one"),
        (PATCH.format(file="../../x", old="two", new="2"), "fix.patch: is no patch"),
    ],
    ids=["no file", "no patch", "out of the tree"],
)
def test_a_patch_of_ones_own_that_does_not_apply(
    small: series.Series, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "fix.patch").write_text(text)
    files = {"time.c": b"one\ntwo\nthree\n", "net/wifi.c": b"one\ntwo\nthree\n"}
    with pytest.raises(Refused) as refused:
        series.patched(small, (6, 12), files.get, [tmp_path / "fix.patch"])
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(told)


@pytest.mark.parametrize("spoil", ["none", "makefile", "old", "old alone", "part", "um"])
def test_a_folder_that_is_no_tree_of_a_kernel(tree: Path, spoil: str) -> None:
    told = {
        "none": "nowhere is no folder",
        "makefile": "is no kernel's source: it has no Makefile with a VERSION",
        "old": "is kernel 6.6.3; 6.12 is the oldest that has patches",
        "old alone": "is kernel 6.6.3; 6.12 is the oldest that has patches",
        "part": "has no Kconfig; take a whole tree of kernel 6.19.3",
        "um": "has no User-Mode Linux for x86",
    }
    folder = tree / "nowhere" if spoil == "none" else tree
    if spoil == "makefile":
        (tree / "Makefile").write_text("all:\n")
    if spoil in ("old alone", "part"):
        (tree / "Kconfig").unlink()
    if spoil.startswith("old"):
        (tree / "Makefile").write_text(MAKEFILE.replace("19", "6"))
    if spoil == "um":
        (tree / "arch/x86/um/Makefile").unlink()
        (tree / "arch/x86/um").rmdir()
    with pytest.raises(Refused) as refused:
        source.tree(folder, (6, 12))
    assert str(refused.value).startswith("--source: ") and told[spoil] in str(refused.value)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ("words", "the Makefile's version is 'six.12.3'; expected numbers"),
        ("pipe", "net/pipe is no regular file; remove it from the tree"),
        ("makefile", "it has no Makefile with a VERSION"),
        ("unreadable", ": Permission denied"),
    ],
)
def test_a_tree_with_strange_files_is_refused_at_once(
    tree: Path, spoil: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spoil == "words":
        text = (tree / "Makefile").read_text()
        (tree / "Makefile").write_text(text.replace("= 6", "= six").replace("= 19", "= 12"))
    elif spoil == "pipe":
        os.mkfifo(tree / "net/pipe")
    elif spoil == "makefile":
        (tree / "Makefile").unlink()
        os.mkfifo(tree / "Makefile")
    else:
        # Root can read all files, so the kernel's answer is played.
        def denied(path: Path) -> str:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(source, "_hash", denied)
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    assert main(["--source", str(tree)]) == 3
    (line,) = said.getvalue().splitlines()
    assert told in line


def test_links_to_folders_are_of_a_tree(tree: Path) -> None:
    """Some of a kernel's headers are found by them."""
    (tree / "prefixes").symlink_to("net")
    assert source.tree(tree, (6, 12)).files["prefixes"].startswith("120000 ")


@pytest.mark.parametrize("with_git", [True, False])
def test_a_tree_is_known_by_what_it_holds_now(tree: Path, with_git: bool) -> None:
    """An edit or a new file makes another tree, and undoing it the first; the user's repository
    stays as it was."""
    if with_git:
        git(tree, "init", "-q")
        git(tree, "add", "--all")
        git(tree, "commit", "-qm", "first")

    def all_files() -> set[tuple[str, bytes]]:
        return {(str(path), path.read_bytes()) for path in tree.rglob("*") if path.is_file()}

    before = all_files()
    first = source.tree(tree, (6, 12))
    assert first.release == (6, 19) and first.version == "6.19.3-rc1"
    assert first.about["name"] == "my_tree"
    assert ("commit" in first.about) is with_git
    (tree / "net/tcp.c").write_text("other\n")
    edited = source.tree(tree, (6, 12))
    (tree / "net/tcp.c").write_text("tcp\n")
    (tree / "net/new.c").write_text("new\n")
    added = source.tree(tree, (6, 12))
    (tree / "net/new.c").unlink()
    (tree / "net/tcp.o").write_text("an object")
    again = source.tree(tree, (6, 12))
    assert len({first.identity, edited.identity, added.identity}) == 3
    assert again.identity == first.identity and again.files == first.files
    (tree / "net/tcp.o").unlink()
    assert all_files() == before


def test_a_tree_whose_files_git_ignores(tree: Path) -> None:
    """Debian's source is one, with a repository made around it."""
    git(tree, "init", "-q")
    (tree / ".gitignore").write_text("/*\n!/debian/\n")
    with pytest.raises(Refused, match=r"git ignores .*'s Makefile; look at its \.gitignore"):
        source.tree(tree, (6, 12))


def test_a_build_folder_follows_a_tree(tree: Path, small: series.Series, tmp_path: Path) -> None:
    """Only files that changed get a new date; what a patch no longer touches is as in the tree."""
    folder = Folder(tmp_path / "own" / "tree")
    (tmp_path / "own").mkdir()
    (tree / "time.c").chmod(0o755)  # a script of the build may be patched too

    def follow(*own: Path) -> dict[str, str]:
        found = source.tree(tree, (6, 12))
        folder.follow(found, small, list(own))
        for path in folder.place.rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.utime(path, (1, 1))
        return {name: (folder.place / name).read_text() for name in found.files}

    first = follow()
    assert first["time.c"] == "one\n2\nthree\n" and first["net/tcp.c"] == "tcp\n"
    assert [os.access(folder.place / name, os.X_OK) for name in first] == [
        os.access(tree / name, os.X_OK) for name in first
    ]
    assert (folder.place / "link").readlink() == Path("Makefile")
    (tree / "net/tcp.c").write_text("other\n")
    (tree / "late.c").unlink()
    own = tmp_path / "fix.patch"
    own.write_text(PATCH.format(file="net/wifi.c", old="zwei", new="mine"))
    folder.follow(source.tree(tree, (6, 12)), small, [own])
    dates = {p.name: p.stat().st_mtime for p in folder.place.rglob("*.c") if p.stat().st_mtime > 1}
    assert dates.keys() == {"tcp.c", "wifi.c"}
    assert not (folder.place / "late.c").exists()
    assert (folder.place / "net/wifi.c").read_text() == "one\nmine\nthree\n"
    assert follow() | {"late.c": ""} == {**first, "net/tcp.c": "other\n", "late.c": ""}
    assert (tree / "time.c").read_text() == "one\ntwo\nthree\n"


def test_a_build_folder_that_was_interrupted(
    tree: Path, small: series.Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had copied a change that the tree has taken back since."""
    folder = Folder(tmp_path / "own" / "tree")
    (tmp_path / "own").mkdir()
    folder.follow(source.tree(tree, (6, 12)), small, [])
    (tree / "net/tcp.c").write_text("other\n")
    copy = Folder._copy

    def killed(self: Folder, *where: object) -> None:
        copy(self, *where)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(Folder, "_copy", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.follow(source.tree(tree, (6, 12)), small, [])
    monkeypatch.undo()
    (tree / "net/tcp.c").write_text("tcp\n")
    assert (folder.place / "net/tcp.c").read_text() == "other\n"
    folder.follow(source.tree(tree, (6, 12)), small, [])
    assert (folder.place / "net/tcp.c").read_text() == "tcp\n"


def test_what_a_killed_compiler_was_writing_is_made_again(tmp_path: Path) -> None:
    """By its date it would pass for whole. An ordinary failure leaves nothing half written."""
    folder = Folder(tmp_path / "tree")
    for name, dates in {"whole": (5, 5), "half": (9, 5), "first": (9, None)}.items():
        for path, date in zip((f"{name}.o", f".{name}.o.cmd"), dates, strict=True):
            if date is not None:
                (folder.place / "net").mkdir(parents=True, exist_ok=True)
                (folder.place / "net" / path).touch()
                os.utime(folder.place / "net" / path, (date, date))

    def objects() -> set[str]:
        return {path.stem for path in (folder.place / "net").glob("*.o")}

    with pytest.raises(Failed), folder.compiling():
        raise Failed("compiling the kernel failed")
    with pytest.raises(KeyboardInterrupt), folder.compiling():
        assert objects() == {"whole", "half", "first"}
        raise KeyboardInterrupt
    with folder.compiling():
        assert objects() == {"whole"}


def test_a_killed_builds_folder_is_removed_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "build-killed").mkdir()
    with kernels._new_folder(tmp_path, "build-") as first:
        assert not (tmp_path / "build-killed").exists()
        with kernels._new_folder(tmp_path, "build-") as second:
            assert first.is_dir() and second.is_dir()
            second.rename(tmp_path / "kept")
        assert (tmp_path / "kept").is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "new.lock"}


def test_compilers_keep_the_lock_of_a_build_that_was_killed(tree: Path, tmp_path: Path) -> None:
    """They may write until they end, so the next build waits for them."""
    (tmp_path / "go").mkdir()
    os.mkfifo(tmp_path / "go" / "on")
    (tree / "Makefile").write_text(f"all:\n\t@touch started; cat {tmp_path}/go/on >ended\n")
    killed = f"""
import os, threading
from pathlib import Path
from building import compiled, kernels
with kernels._locked(Path({str(tmp_path)!r}) / "lock"):
    maker = threading.Thread(target=compiled.make, args=(Path({str(tree)!r}), "all"), daemon=True)
    maker.start()
    while not Path({str(tree)!r}, "started").exists():
        maker.join(0.01)
    os.kill(os.getpid(), 9)
"""
    path = {**os.environ, "PYTHONPATH": str(KERNEL_BUILD.parent)}
    subprocess.run([sys.executable, "-c", killed], env=path)
    with (tmp_path / "lock").open() as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (tmp_path / "go" / "on").write_text("go\n")
        fcntl.flock(file, fcntl.LOCK_EX)
    assert (tree / "ended").read_text() == "go\n"


def package_of(tree: Path, folder: Path) -> source.Package:
    """A Debian package with the tree."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:xz") as tar:
        tar.add(tree, "linux-source-6.12")
    outer = io.BytesIO()
    with tarfile.open(fileobj=outer, mode="w:xz") as tar:
        member = tarfile.TarInfo("./usr/src/linux-source-6.12.tar.xz")
        member.size = len(inner.getvalue())
        tar.addfile(member, io.BytesIO(inner.getvalue()))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.tar.xz").write_bytes(outer.getvalue())
    deb = folder / "x.deb"
    subprocess.run(["ar", "qc", str(deb), str(folder / "data.tar.xz")], check=True)
    sha256 = hashlib.sha256(deb.read_bytes()).hexdigest()
    about = {"kind": "package", "name": "linux-source-6.12", "version": "1", "sha256": sha256}
    return source.Package((6, 12), "1", "id", about, "linux-source-6.12", sha256, deb)


def test_a_package_is_taken_only_with_its_hash(tree: Path, tmp_path: Path) -> None:
    package = package_of(tree, tmp_path / "deb")
    (tmp_path / "out").mkdir()
    package.unpack(tmp_path / "out")
    assert (tmp_path / "out" / "net/tcp.c").read_text() == "tcp\n"
    package.deb.write_bytes(package.deb.read_bytes() + b"x")
    with pytest.raises(Refused, match=r"has not the SHA-256 .* in kernels\.lock; remove it"):
        package.checked()
    package.deb.unlink()
    with pytest.raises(Refused, match="run 'make setup' or 'hoplab machine build'"):
        package.checked()


def test_a_part_of_a_package_is_unpacked_by_the_builds_command(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `hoplab selftest` takes what tests need."""
    package = package_of(tree, tmp_path / "deb")
    monkeypatch.setattr(source, "package", lambda *what: package)
    (tmp_path / "out").mkdir()
    assert main(["--unpack", str(tmp_path / "out"), "--part=net", "--part=Makefile"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["Makefile", "net"]
    assert main(["--source", str(tree), "--unpack", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err == f"guest kernel: --unpack: {tree} is unpacked already\n"


def test_tools_are_found_where_an_ordinary_users_path_does_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's depmod is in /usr/sbin. Without a compiler the first one is named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="gcc is missing; install it with 'apt-get install gcc'"):
        kernels.require_tools()
    look_everywhere()
    source.require("depmod", "kmod")


def test_a_build_folder_follows_a_package_with_patches(
    tree: Path, small: series.Series, tmp_path: Path
) -> None:
    package = package_of(tree, tmp_path / "deb")
    (tmp_path / "own").mkdir()
    folder = Folder(tmp_path / "own" / "linux")
    own = tmp_path / "fix.patch"
    own.write_text(PATCH.format(file="late.c", old="two", new="mine"))
    folder.follow(package, small, [own])
    assert (folder.place / "late.c").read_text() == "one\nmine\nthree\n"
    folder.follow(package, small, [])
    assert (folder.place / "late.c").read_text() == "one\ntwo\nthree\n"
    assert (folder.place / "time.c").read_text() == "one\n2\nthree\n"


def test_a_package_is_unpacked_once_and_another_one_anew(
    tree: Path, small: series.Series, tmp_path: Path
) -> None:
    """Also if its first patch does not apply. A lock that moves on has a package of the same name,
    whose kernel must not be made from the old source."""
    package = package_of(tree, tmp_path / "deb")
    (tmp_path / "own").mkdir()
    folder = Folder(tmp_path / "own" / "linux")
    bad = tmp_path / "bad.patch"
    bad.write_text(PATCH.format(file="late.c", old="four", new="mine"))
    with pytest.raises(Refused, match=r"bad\.patch does not apply to late\.c"):
        folder.follow(package, small, [bad])
    (folder.place / "object.o").write_text("compiled")
    folder.follow(package, small, [])
    assert (folder.place / "object.o").exists()
    (tree / "net/tcp.c").write_text("other\n")
    newer = dataclasses.replace(package_of(tree, tmp_path / "newer"), identity="newer")
    folder.follow(newer, small, [])
    assert (folder.place / "net/tcp.c").read_text() == "other\n"
    assert not (folder.place / "object.o").exists()


def test_what_a_configuration_loses_is_named(tree: Path, tmp_path: Path) -> None:
    (tree / "Makefile").write_text(MAKEFILE + FAKE_MAKE)
    script = tree / "scripts/kconfig/merge_config.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\ncat hoplab.config >.config\n")
    script.chmod(0o755)
    fragment, own = tmp_path / "10-a.config", tmp_path / "my.config"
    fragment.write_text("CONFIG_ONE=y\nCONFIG_TWO=y\nCONFIG_NOT=n\n")
    own.write_text("CONFIG_THREE=y\n")
    compiled.configure(tree, [fragment], [own])
    own.write_text("# CONFIG_TWO is not set\n")
    with pytest.raises(Refused) as refused:
        compiled.configure(tree, [fragment], [own])
    told = (
        f"the kernel's configuration lost CONFIG_TWO=y, which Hoplab needs; {own} takes that away"
    )
    assert str(refused.value) == told
    script.write_text("#!/bin/sh\ncat hoplab.config | grep -v THREE >.config\n")
    own.write_text("CONFIG_THREE=y\n")
    with pytest.raises(Refused, match=r"--config: .*my\.config: the kernel refused CONFIG_THREE=y"):
        compiled.configure(tree, [fragment], [own])


def test_a_build_that_fails_names_the_first_error_and_leaves_no_kernel(
    tree: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "Makefile").write_text(MAKEFILE + FAKE_MAKE)
    script = tree / "scripts/kconfig/merge_config.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(series.Series, "patches", lambda self, version, without=(): [])
    monkeypatch.setattr(series.Series, "fragments", lambda self, version: [])
    monkeypatch.setattr(kernels, "require_tools", lambda: None)
    engine = cached / "engine.o"
    engine.parent.mkdir(parents=True)
    engine.touch()
    monkeypatch.setattr(finished, "ENGINE", engine)
    wanted = kernels.Wanted(source.tree(tree, (6, 12)))
    with pytest.raises(Refused) as refused:
        kernels.Kernel(wanted).build()
    told = "compiling the kernel failed: net/ipv4/tcp.c:7:3: error: expected ';' before 'return'"
    assert str(refused.value).startswith(told)
    assert not [path for path in (cached / "kernel").iterdir() if path.name.count("-") == 1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kernel", "5.4"], "--kernel: 5.4 is not in kernels.lock; one of: 6.12, 7.3"),
        (["--patch", "nowhere.patch"], "--patch: nowhere.patch is no file"),
        (["--config", "nowhere"], "--config: nowhere is no file"),
    ],
)
def test_mistakes_are_a_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 3
    assert capsys.readouterr().err == f"guest kernel: {told}\n"


def test_what_is_no_option_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the kernel's script would pass it over without a word."""
    path = tmp_path / "own.config"
    path.write_text("# mine\n\nCONFIG_MPTCP=y\n# CONFIG_IPV6 is not set\nMPTCP_IPV6=y\n")
    assert main(["--config", str(path)]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"guest kernel: --config: {path}, line 5: 'MPTCP_IPV6=y' is no option; ")


def test_a_build_that_waits_for_another_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[int] = []

    def flock(file: object, how: int) -> None:
        locks.append(how)
        if how & fcntl.LOCK_NB:
            raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", flock)
    with kernels._locked(tmp_path / "lock"):
        assert locks == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX]
    assert capsys.readouterr().err == "guest kernel: waits for another build of this kernel\n"


def test_files_of_ones_own_get_names_that_a_machine_may_have(tree: Path, tmp_path: Path) -> None:
    paths = tuple(tmp_path / name for name in ("my fix.patch", "a/x.patch", "b/x.patch", ".config"))
    wanted = kernels.Wanted(source.tree(tree, (6, 12)), paths[:3], paths[3:])
    names = ["my_fix.patch", "x.patch", "2-x.patch", "config"]
    assert wanted.kept() == dict(zip(names, paths, strict=True))
