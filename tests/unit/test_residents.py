# SPDX-License-Identifier: Apache-2.0
"""Children that no `subprocess.Popen` has started."""

import errno
import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hoplab.guest.system import residents
from hoplab.guest.system.residents import WANTED, Resident


def child(*command: str) -> Resident:
    return Resident(os.posix_spawn("/bin/sh", ["sh", "-c", *command], os.environ))


def test_one_that_ends_by_itself_has_its_status() -> None:
    ended = child("exit 3")
    assert ended.wait() == ended.wait(1.0) == ended.poll() == 3
    ended.terminate()  # it is over, and another process may have its number
    ended.kill()


def test_one_that_is_asked_to_end_has_ended_by_that() -> None:
    asked = child("kill -STOP $$")
    with pytest.raises(subprocess.TimeoutExpired):
        asked.wait(0.01)
    assert asked.poll() is None
    asked.kill()
    assert asked.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.ENOTTY])
def test_a_kernel_that_starts_none_says_so(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "document"
    document.write_text("{}")
    command = ["/bin/hoplab-dsr", str(document)]
    monkeypatch.setattr(residents, "DEVICE", str(tmp_path / "none"))
    assert residents.start(command, 1) is None
    (tmp_path / "none").touch()

    def refuse(*given: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    assert residents.start(command, 1) is None


def test_the_kernel_is_told_name_document_and_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, device = tmp_path / "document", tmp_path / "device"
    document.write_text('{"a": 1}')
    device.touch()
    monkeypatch.setattr(residents, "DEVICE", str(device))
    told: list[object] = []

    def tell(descriptor: int, request: int, wanted: bytearray, mutate: bool) -> int:
        address, length, output, zero = WANTED.unpack(wanted)
        told.extend([request, residents.ctypes.string_at(address, length), output, zero, mutate])
        return 77

    monkeypatch.setattr(fcntl, "ioctl", tell)
    started = residents.start(["/build/bin/hoplab-dsr", str(document)], 5)
    assert started is not None and started.pid == 77
    assert told == [0x6803, b'hoplab-dsr\n{"a": 1}', 5, 0, True]
