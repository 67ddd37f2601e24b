# SPDX-License-Identifier: Apache-2.0
"""The base of a machine's root: the files of the locked packages that runs need, and no more.

Packages are unpacked and none of their scripts is run. What is made here, the interpreter's
compiled files and the linker's cache, is made by the root's own programs.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from hoplab.host.machine.archive import PYTHON, Package
from hoplab.host.machine.cpio import Entry, from_tree
from hoplab.model.errors import MissingTool

SITE = "usr/lib/python3/dist-packages"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
STDLIB = f"usr/lib/python{PYTHON}"
LOADER = f"{LIBRARIES}/ld-linux-x86-64.so.2"
MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders of the root that are links into /usr, as in every Debian since 12."""
PROGRAMS = (
    *("usr/bin/busybox", f"usr/bin/python{PYTHON}", "usr/bin/iperf3"),
    *("usr/bin/tcpdump", "usr/sbin/batmand", "usr/sbin/babeld", "usr/sbin/iw"),
)
APPLETS = (
    *("sh", "mount", "mkdir", "ln", "insmod", "stty", "setsid", "sleep", "cat", "ip", "env"),
    *("true", "reboot", "ls", "dmesg"),
)
STDLIB_WITHOUT = (
    *("test", "idlelib", "lib2to3", "ensurepip", "distutils", "pydoc_data", "tkinter"),
    *("turtledemo", "venv", "curses", "dbm", "xmlrpc", "wsgiref"),
)
EXTENSIONS_WITHOUT = (
    *("_curses", "readline", "_dbm", "_bz2", "_crypt", "nis", "_uuid"),
    *("_tkinter", "_test", "_xxsub", "xxlimited", "ossaudiodev", "_ctypes_test"),
)
LIBRARIES_WITHOUT = ("libmvec", "libnss_", "libnsl", "libthread_db", "libpcprofile", "libmemusage")
TEXTS = ("GPL-1", "GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "LGPL-3", "Apache-2.0", "BSD", "Artistic")
PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
GROUP = "root:x:0:\nnogroup:x:65534:\n"
HOSTS = "127.0.0.1 localhost\n::1 localhost\n"


def build(
    packages: Mapping[Package, Path], work: Path
) -> tuple[dict[str, Entry], dict[str, bytes]]:
    """The base's files, made in the empty folder ``work``, and the texts of their licences."""
    tree = work / "root"
    tree.mkdir()
    licences: dict[str, bytes] = {}
    for package, path in packages.items():
        if package.kind == "deb":
            unpack_deb(package, path, tree, licences)
        else:
            _unpack_wheel(package, path, tree, licences)
    for name in MERGED:
        (tree / name).symlink_to(f"usr/{name}")
    (tree / "usr/lib64").mkdir(parents=True, exist_ok=True)
    (tree / "usr/lib64/ld-linux-x86-64.so.2").unlink(missing_ok=True)
    (tree / "usr/lib64/ld-linux-x86-64.so.2").symlink_to("/" + LOADER)
    for applet in APPLETS:
        (tree / "usr/bin" / applet).symlink_to("busybox")
    (tree / "usr/bin/python3").symlink_to(f"python{PYTHON}")
    _link_libraries(tree, work)
    compile_python(tree, tree, ("usr/lib",), keep_sources=False)
    _check_libraries(tree)
    for name, text in (("passwd", PASSWD), ("group", GROUP), ("hosts", HOSTS)):
        (tree / "etc" / name).write_text(text, encoding="ascii")
    for name in ("dev", "proc", "sys", "run", "tmp", "root", "out", "var", "hoplab"):
        (tree / name).mkdir(exist_ok=True)
    (tree / "var/run").symlink_to("/run")
    return from_tree(tree), licences


def unpack_deb(
    package: Package,
    path: Path,
    tree: Path,
    licences: dict[str, bytes],
    wanted: Callable[[str], bool] | None = None,
) -> None:
    """Put those files of a package into ``tree`` that are ``wanted``, a root's where nothing is
    said, and its licences into ``licences``. Raises `MissingTool` where it cannot be unpacked."""
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True)
    if done.returncode != 0:
        raise MissingTool(f"{package.name}: cannot be unpacked: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            if name.split("/")[0] in MERGED:
                name = f"usr/{name}"
            _note_licence(package, name, member, tar, licences)
            if not (wanted or _wanted)(name):
                continue
            target = tree / name
            if member.issym():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(member.linkname)
            elif member.isfile():
                content = tar.extractfile(member)
                assert content is not None
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
                target.chmod(0o755 if member.mode & 0o100 else 0o644)


def _wanted(name: str) -> bool:
    """Whether a run may need the file."""
    if name in (*PROGRAMS, "usr/sbin/ldconfig"):
        return True
    folder, _, base = name.rpartition("/")
    if folder == LIBRARIES:
        return ".so" in base and not base.startswith(LIBRARIES_WITHOUT)
    if not name.startswith(STDLIB + "/"):
        return False
    inside = name.removeprefix(STDLIB + "/").split("/")
    if inside[0].startswith("config-") or not inside[-1].endswith((".py", ".so")):
        return False
    if inside[0] == "lib-dynload":
        return not inside[1].startswith(EXTENSIONS_WITHOUT)
    return not inside[0].startswith(STDLIB_WITHOUT)


def _note_licence(
    package: Package,
    name: str,
    member: tarfile.TarInfo,
    tar: tarfile.TarFile,
    licences: dict[str, bytes],
) -> None:
    shared = name.removeprefix("usr/share/common-licenses/")
    own = name == f"usr/share/doc/{package.name}/copyright"
    if member.isfile() and (own or shared in TEXTS):
        content = tar.extractfile(member)
        assert content is not None
        kept = f"debian/{package.name}" if own else f"texts/{shared}"
        licences[kept] = content.read()


def _unpack_wheel(package: Package, path: Path, tree: Path, licences: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.endswith("/") or ".data/" in name:
                continue
            if ".dist-info/" in name:
                base = Path(name).name
                if base.upper().startswith(("LICEN", "COPYING", "NOTICE")):
                    licences[f"python/{package.name}/{base}"] = wheel.read(name)
                if base != "METADATA":
                    continue
            target = tree / SITE / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel.read(name))


def _own(tree: Path, program: str, *arguments: str) -> list[str]:
    """Command that runs a program of the root with the root's libraries, on any host."""
    paths = f"{tree / LIBRARIES}:{tree / 'usr/lib'}"
    return [str(tree / LOADER), "--library-path", paths, str(tree / program), *arguments]


def python(base: Path) -> list[str]:
    """Return the command of the root's interpreter, to run it on this host."""
    return _own(base, f"usr/bin/python{PYTHON}")


def environment(base: Path) -> dict[str, str]:
    """Return the environment of `python`."""
    return {"PYTHONHOME": str(base / "usr"), "PYTHONHASHSEED": "0", "LC_ALL": "C"}


def compile_python(
    base: Path, tree: Path, folders: tuple[str, ...], keep_sources: bool = True
) -> None:
    """Compile the Python files below ``folders`` of ``tree`` with the interpreter of ``base``.

    The compiled files name no date and no place of this host. Without ``keep_sources`` they take
    the sources' places: every guest has its root in memory.
    """
    # Without -B it would first write what it imports itself, with this host's folder in it.
    command = [*python(base), "-I", "-S", "-B", "-m", "compileall", "-q"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", str(tree), "-p", "/"]
    if not keep_sources:
        command.append("-b")
    done = subprocess.run(
        [*command, *(str(tree / folder) for folder in folders)],
        env=environment(base),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise MissingTool(
            f"machine: compiling its Python files failed: {done.stdout.strip()[:300]}"
        )
    if not keep_sources:
        for folder in folders:
            for source in (tree / folder).rglob("*.py"):
                source.unlink()


def _link_libraries(tree: Path, work: Path) -> None:
    """The linker's cache, so that a program's start does not search for each library."""
    (tree / "etc/ld.so.conf.d").mkdir(parents=True)
    (tree / "etc/ld.so.conf").write_text("/" + LIBRARIES + "\n", encoding="ascii")
    ldconfig = work / "ldconfig"
    (tree / "usr/sbin/ldconfig").rename(ldconfig)
    done = subprocess.run(
        [str(ldconfig), "-r", str(tree), "-X"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise MissingTool(f"machine: ldconfig failed: {done.stderr.strip()[:300]}")
    shutil.rmtree(tree / "var", ignore_errors=True)
    shutil.rmtree(tree / "etc/ld.so.conf.d")
    (tree / "etc/ld.so.conf").unlink()


def _check_libraries(tree: Path) -> None:
    """Raise `MissingTool` where a program or library of the root lacks one that it wants."""
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name.startswith("ld-linux"):
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        command = [*_own(tree, "")[:3], "--inhibit-cache", "--list", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in (done.stdout + done.stderr).splitlines():
            # What is found is found in the root, not on this host.
            if "not found" in line or ("=> /" in line and f"=> {tree}/" not in line):
                name = path.relative_to(tree)
                raise MissingTool(f"machine: {name} lacks a library: {line.strip()}")
