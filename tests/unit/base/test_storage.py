# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks that say who holds them, digests that are taken once, entries that are whole or absent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lsmeter.core import storage
from lsmeter.core.entries import new_entry
from lsmeter.core.errors import InfrastructureError, UsageError
from tests.conftest import Wait

HOLD = """
import sys, time
from pathlib import Path
from lsmeter.core.entries import new_entry
from lsmeter.core.storage import cache_dir, locked
sys.argv[1:] = ["image", "build", "x\\x1b"]
with locked("thing"), new_entry(cache_dir() / "things" / "a") as partial:
    (partial / "half").write_text("x")
    print("held", flush=True)
    time.sleep(600)
"""
WAIT = """
from lsmeter.core.storage import locked
from lsmeter.core import storage
import signal
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    with locked("thing"):
        print("had it")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@contextmanager
def holder() -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the lock and is filling an entry."""
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_wait_names_the_holder_and_ends_with_a_signal(
    number: signal.Signals, tmp_path: Path, wait_for: Wait[bool]
) -> None:
    said = tmp_path / "said"
    with holder() as held, said.open("w") as errors:
        waiter = subprocess.Popen(
            [sys.executable, "-c", WAIT], stdout=subprocess.PIPE, stderr=errors, text=True
        )
        wait_for(lambda: "thing" in said.read_text())
        waiter.send_signal(number)
        assert waiter.communicate(timeout=120)[0] == "interrupted\n"
    text = said.read_text()
    assert f"process {held.pid} (lsmeter image build" in text
    assert "since 20" in text
    assert "\x1b" not in text


def test_a_lock_is_free_once_its_holder_was_killed(cache: Path) -> None:
    with holder() as held:
        held.kill()
        held.wait()
        with storage.locked("thing"):
            note = (cache / "locks" / "thing.lock").read_text()
    assert note.startswith(f"process {os.getpid()} (lsmeter")


def test_a_wait_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LOCK_WAIT_S", 0.3)
    with holder() as held, pytest.raises(InfrastructureError) as caught, storage.locked("thing"):
        pass
    assert f"process {held.pid}" in caught.value.title
    assert "end it" in caught.value.hint


@pytest.mark.parametrize("wait_s", [0, 0.3])
def test_who_holds_a_file_is_named_when_the_wait_ends(tmp_path: Path, wait_s: float) -> None:
    path = tmp_path / "lock"
    with storage.hold(path, "the thing", 0):
        with pytest.raises(storage.HeldError) as caught, storage.hold(path, "the thing", wait_s):
            pass
        assert caught.value.who.startswith(f"process {os.getpid()} (lsmeter")
        assert caught.value.title.endswith(f" has held the thing for {wait_s:.0f} s")
        path.write_bytes(b"\x1b[31m\xff" + b"x" * 4000)
        with pytest.raises(storage.HeldError) as caught, storage.hold(path, "the thing", wait_s):
            pass
        assert caught.value.who.isprintable()
        assert len(caught.value.who) < 320
    with storage.hold(path, "the thing", 0):
        pass


def test_a_lock_holds_on_a_full_disk_and_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*words: object) -> int:
        raise OSError(28, os.strerror(28))

    path = tmp_path / "lock"
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with storage.hold(path, "it", 0):
            with pytest.raises(storage.HeldError) as caught, storage.hold(path, "it", 0):
                pass
            assert caught.value.who == "another process"
        patch.setattr("fcntl.flock", full)
        with storage.hold(path, "it", 0), storage.hold(path, "it", 0):
            pass


def test_threads_of_one_process_wait_for_each_other() -> None:
    inside: list[int] = []

    def enter() -> None:
        with storage.locked("thing"):
            inside.append(1)
            assert len(inside) == 1
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_a_killed_process_left_is_removed_and_what_lives_stays(cache: Path) -> None:
    left = cache / "things" / ".a.partial"
    with holder() as held:
        with new_entry(cache / "things" / "b"):
            assert (left / "half").exists(), "its process lives"
        held.kill()
        held.wait()
        with new_entry(cache / "things" / "b"):
            assert not left.exists()
    assert [path.name for path in (cache / "things").iterdir()] == ["b"]


@pytest.mark.parametrize("kind", [UsageError, InfrastructureError])
def test_no_message_names_a_partial_entry(
    cache: Path, kind: type[UsageError | InfrastructureError]
) -> None:
    final = cache / "things" / "a"
    with pytest.raises(kind) as caught, new_entry(final) as partial:
        raise kind(f"{partial}/vmlinux is bad", hint=f"see {partial}")
    assert (caught.value.title, caught.value.hint) == (f"{final}/vmlinux is bad", f"see {final}")
    assert list((cache / "things").iterdir()) == []


class TestDigest:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "vmlinux"
        path.write_bytes(b"kernel")
        self.age(path)
        return path

    @staticmethod
    def age(path: Path) -> None:
        """Let a file be older than what may change again unseen; its times are set alone."""
        os.utime(path, (1, 1))

    @pytest.fixture
    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        found: list[Path] = []
        plain = storage.sha256_of
        monkeypatch.setattr(storage, "sha256_of", lambda path: found.append(path) or plain(path))
        monkeypatch.setattr(storage, "_RACY_S", -60.0)  # the time of a change cannot be set back
        return found

    def test_a_file_is_read_once(self, file: Path, reads: list[Path]) -> None:
        assert len({storage.known_sha256(file) for _ in range(3)}) == 1
        assert reads == [file]

    @pytest.mark.usefixtures("reads")
    def test_a_change_is_seen_whatever_its_times_say(self, file: Path) -> None:
        before, status = storage.known_sha256(file), file.stat()
        with file.open("r+b") as opened:
            opened.write(b"K")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert storage.known_sha256(file) != before
        with pytest.raises(
            InfrastructureError, match=r"vmlinux is damaged or was changed"
        ) as caught:
            storage.prove(file, before, "fetch it again")
        assert caught.value.hint == "fetch it again"

    @pytest.mark.usefixtures("reads")
    def test_another_file_of_the_same_size_is_seen(self, file: Path) -> None:
        before = storage.known_sha256(file)
        other = file.with_name("other")
        other.write_bytes(b"lernek")
        other.replace(file)
        assert storage.known_sha256(file) != before

    def test_what_was_changed_just_now_is_read_again(
        self, file: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(storage, "_RACY_S", 1e9)
        for _ in range(2):
            storage.known_sha256(file)
        assert reads == [file, file]

    @pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"1 2 3 4 5 0000", b"flip"])
    @pytest.mark.usefixtures("reads")
    def test_a_damaged_note_is_no_damage_of_the_file(
        self, file: Path, cache: Path, damage: bytes
    ) -> None:
        digest = storage.known_sha256(file)
        (note,) = (cache / "digests").iterdir()
        text = note.read_bytes()
        note.write_bytes(text[:-1] + bytes([text[-1] ^ 1]) if damage == b"flip" else damage)
        storage.prove(file, digest, "")

    def test_a_file_that_is_gone_is_named(self, file: Path) -> None:
        file.unlink()
        with pytest.raises(InfrastructureError, match="vmlinux: No such file"):
            storage.prove(file, "0" * 64, "")


def test_what_is_sealed_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "plugin.so"
    assert not storage.is_sealed(path)
    storage.write_sealed(path, b"code")
    assert storage.is_sealed(path)
    for damaged in (path, tmp_path / "plugin.so.sha256"):
        before = damaged.read_bytes()
        damaged.write_bytes(b"\xff" + before[1:])
        assert not storage.is_sealed(path)
        damaged.write_bytes(before)
    assert storage.is_sealed(path)
