# SPDX-License-Identifier: GPL-2.0-or-later
"""Writing replaces regular files whole, and nothing else; nothing is made in passing."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.storage import output_dir, write_atomic, write_output

Writer = Callable[[Path, bytes], None]


@pytest.fixture(params=[write_atomic, write_output], ids=["ours", "the user's"])
def write(request: pytest.FixtureRequest) -> Writer:
    found: Writer = request.param
    return found


def test_a_regular_file_is_replaced_whole(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / ("x" * 255)
    write(path, b"long" * 10)
    before = path.stat().st_ino
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, write: Writer) -> None:
    (tmp_path / "there").mkdir()
    for name in ("old", "new"):
        link = tmp_path / f"to-{name}"
        link.symlink_to(Path("there") / name)
    (tmp_path / "there" / "old").write_bytes(b"old")
    for name in ("old", "new"):
        write(tmp_path / f"to-{name}", b"text")
        assert (tmp_path / f"to-{name}").is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == b"text"


def test_a_fifo_is_written_to_its_reader(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="nobody reads"):
        write(path, b"lost")
    found = bytearray()
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(number, True)
    big = b"x" * (1 << 20)

    def read() -> None:
        while len(found) < len(big):
            # Nothing comes before the writer has opened it.
            found.extend(os.read(number, 1 << 16) or time.sleep(0.01) or b"")
        os.close(number)

    reader = threading.Thread(target=read)
    reader.start()
    write(path, big)
    reader.join()
    assert found == big
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_stays_a_device(write: Writer) -> None:
    # Never /dev/full itself: where the test fails, that would replace it.
    write(Path("/proc/self/fd") / str(os.open("/dev/null", os.O_WRONLY)), b"text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    number = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(InfrastructureError, match="No space left on device"):
        write(Path(f"/proc/self/fd/{number}"), b"text")
    os.close(number)


def test_sockets_and_directories_are_refused(tmp_path: Path, write: Writer) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(UsageError, match="a socket"):
            write(tmp_path / "socket", b"text")
    with pytest.raises(InfrastructureError, match="Is a directory"):
        write(tmp_path, b"text")


def test_a_file_that_is_open_but_gone_is_written_in_place(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "gone"
    with path.open("w+b") as file:
        path.unlink()
        write(Path(f"/proc/self/fd/{file.fileno()}"), b"text")
        assert file.read() == b"text"
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_outside_of_a_directory_that_exists(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--plot: .*/none: no such directory"):
        write_output(tmp_path / "none" / "a.svg", b"x", "--plot")
    with pytest.raises(UsageError, match="no such directory"):
        output_dir(tmp_path / "none" / "graphs", "--graphs")
    assert output_dir(tmp_path / "graphs", "--graphs").is_dir()
    assert list(tmp_path.iterdir()) == [tmp_path / "graphs"]


def test_a_users_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a"
    before = os.umask(0o027)
    try:
        write_output(path, b"x")
        write_atomic(tmp_path / "ours", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == 0o644
    path.chmod(0o600)
    write_output(path, b"y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
