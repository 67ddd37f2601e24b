# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.proof.processor MODEL FOLDER COMMAND…``: on another model of processor.

QEMU emulates the MODEL (``qemu-system-x86_64 -cpu help``) under Debian's kernel, which is unpacked
and not installed. That system has this one's files read-only and FOLDER writable. Standard output,
standard error and exit status are the command's; 125 says that there was no command to run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNEL = "linux-image-amd64"
BUSYBOX = Path("/bin/busybox")
PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "depmod": "kmod",
    "modprobe": "kmod",
}
"""Debian's, of the programs that it needs."""
DRIVERS = ("virtio_pci", "9pnet_virtio", "9p")
MEMORY_MB = 4096
WITHOUT_ANSWER = 125
SHARE = "trans=virtio,version=9p2000.L,msize=512000"
# Files of this system do not change while the other one runs, so it may keep them.
INIT = f"""#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /root
$b mount -t proc proc /proc
for module in /modules/*; do $b insmod "$module" || exit; done
$b mount -t 9p -o {SHARE},ro,cache=loose files /root
$b mount -t devtmpfs dev /root/dev
$b mount -t proc proc /root/proc
$b mount -t sysfs sys /root/sys
for memory in tmp run dev/shm; do
    $b mkdir -p /root/$memory
    $b mount -t tmpfs tmpfs /root/$memory
    $b chmod 1777 /root/$memory
done
$b mkdir -p "/root$folder"
$b mount -t 9p -o {SHARE},cache=mmap folder "/root$folder"
$b cd "/root$folder"
$b chroot /root /bin/sh "$folder/$answers/command"
echo $? > "/root$folder/$answers/status"
$b poweroff -f
"""


def check() -> None:
    """Raises `OSError` where a program is missing."""
    for program, package in PACKAGES.items():
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            raise OSError(f"{program}: is missing; apt-get install {package}")
    # The emulated system starts with nothing else, so no dynamic linker.
    if b"/ld-linux" in BUSYBOX.read_bytes():
        raise OSError(f"{BUSYBOX}: is linked dynamically; apt-get install {PACKAGES['busybox']}")


def prepared(folder: Path) -> tuple[Path, Path]:
    """A kernel of Debian's, and the files that it starts with; made once a folder."""
    kernel, initial = folder / "kernel", folder / "initial.cpio"
    if initial.exists():
        return kernel, initial
    with tempfile.TemporaryDirectory(prefix="hoplab-processor-") as name:
        tree = Path(name)
        drivers = _unpack(tree)
        shutil.copy(next((tree / "boot").glob("vmlinuz-*")), kernel)
        root = tree / "initial"
        (root / "bin").mkdir(parents=True)
        (root / "modules").mkdir()
        shutil.copy(BUSYBOX, root / "bin")
        for number, driver in enumerate(drivers):
            shutil.copy(driver, root / "modules" / f"{number:02}-{driver.name}")
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        pack = ["cpio", "--quiet", "--create", "--format=newc"]
        packed = subprocess.run(
            pack, input=names.encode(), cwd=root, capture_output=True, check=True
        )
        initial.write_bytes(packed.stdout)
    return kernel, initial


def _unpack(folder: Path) -> list[Path]:
    """Debian's kernel without installing it; the drivers to load, in their order."""
    versions = _said("apt-cache", "depends", KERNEL)
    found = re.search(r"Depends: (linux-image-[0-9]\S+)", versions)
    if found is None:
        raise OSError(f"{KERNEL}: no kernel in the distribution's archive")
    _said("apt-get", "download", "-qq", found[1], cwd=folder)
    _said("dpkg-deb", "--extract", str(next(folder.glob("linux-image-*.deb"))), str(folder))
    (modules,) = (folder / "lib" / "modules").iterdir()
    _said("depmod", "--basedir", str(folder), modules.name)
    options = ("--show-depends", "--dirname", str(folder), "--set-version", modules.name, "--all")
    lines = _said("modprobe", *options, *DRIVERS).splitlines()
    return list({Path(line.split()[1]): None for line in lines if line.startswith("insmod")})


def perform(model: str, folder: Path, command: list[str]) -> int:
    """The command's exit status."""
    with tempfile.TemporaryDirectory(prefix="processor-", dir=folder) as name:
        answers = Path(name)
        output = f">{answers}/stdout 2>{answers}/stderr"
        environment = "PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp"
        (answers / "command").write_text(f"exec env {environment} {shlex.join(command)} {output}\n")
        console = subprocess.run(
            _emulator(model, folder, answers.name),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
            check=False,
        )
        if not (answers / "status").exists():
            last = (console.stdout.strip().splitlines() or ["no word"])[-1]
            print(f"{model}: the emulated system ended early: {last}", file=sys.stderr)
            return WITHOUT_ANSWER
        sys.stdout.write((answers / "stdout").read_text())
        sys.stderr.write((answers / "stderr").read_text())
        return int((answers / "status").read_text())


def _emulator(model: str, folder: Path, answers: str) -> list[str]:
    kernel, initial = prepared(folder)
    shares = [
        f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{more}"
        for tag, path, more in (("files", "/", ",readonly=on"), ("folder", folder, ""))
    ]
    return [
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-smp", "2", "-cpu", model),
        *("-m", str(MEMORY_MB), "-no-reboot", "-nic", "none", "-nographic"),
        *("-kernel", str(kernel), "-initrd", str(initial)),
        *("-append", f"console=ttyS0 quiet panic=-1 folder={folder} answers={answers}"),
        *(word for share in shares for word in ("-virtfs", share)),
    ]


def _said(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    if done.returncode != 0:
        raise OSError(f"{shlex.join(command)}: {done.stderr.strip()}")
    return done.stdout


def main(words: list[str]) -> int:
    model, folder, *command = words
    try:
        check()
        return perform(model, Path(folder), command)
    except OSError as error:
        print(f"processor: {error}", file=sys.stderr)
        return WITHOUT_ANSWER


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
