# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts behind ssh: names, scripts, and what of a host's output is taken for results."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.machines import HasHosts, find_machine
from lsmeter.machines.remote import Address, Link, Marks, parse_address, quoted, read_look

PIECES = st.lists(st.binary(max_size=40), max_size=20)
LINK = Link(Address("me@host"))


@pytest.mark.parametrize(
    ("word", "login", "directory"),
    [
        ("ssh:host", "host", ""),
        ("ssh:me@host.example.org", "me@host.example.org", ""),
        ("ssh:me@host:/var/tmp/a", "me@host", "/var/tmp/a"),
        ("ssh:me@192.0.2.1", "me@192.0.2.1", ""),
        ("ssh:me@[2001:db8::1]", "me@2001:db8::1", ""),
        ("ssh:[2001:db8::1]:/data", "2001:db8::1", "/data"),
    ],
)
def test_a_host_is_named_as_for_ssh(word: str, login: str, directory: str) -> None:
    assert parse_address(word) == Address(login, directory)


@pytest.mark.parametrize(
    "word",
    [
        *("ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "ssh:a;b", "ssh:$(x)", "ssh:`x`", "ssh:a\nb"),
        *("ssh:me@-x", "ssh:me@host:dir", "ssh:me@host:/a b", "ssh:me@host:/a'b", "ssh:me@"),
        *("ssh:me@host:/$HOME", "ssh:@host", "ssh:me@host:22"),
    ],
)
def test_what_ssh_or_a_shell_could_misread_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="names no host"):
        parse_address(word)


def test_only_ssh_is_at_a_place() -> None:
    with pytest.raises(UsageError, match="here is at no other place"):
        find_machine("here:elsewhere")
    with pytest.raises(UsageError, match="which host"):
        cast("HasHosts", find_machine("ssh")).kernels()


def test_no_option_of_ssh_follows_the_host() -> None:
    words = LINK.command()
    assert words[-3:-1] == ("--", "me@host")
    assert "BatchMode=yes" in words
    assert "-F" in Link(LINK.address, Path("config")).command()


@given(st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]))))
def test_words_reach_a_program_as_they_are(words: list[str]) -> None:
    words = [word for word in words if word.isprintable()]
    marks = Marks("T")
    sent = marks.around("printf '%s\\0' x " + quoted(*words)).decode()
    done = subprocess.run(["/bin/sh", "-c", sent], capture_output=True, check=True)
    marks.feed(done.stdout)
    assert marks.payload.decode().split("\0") == ["x", *words, ""]
    assert marks.status == 0


@pytest.mark.parametrize("word", ["a\nb", "a\0b", "\x1b[2J"])
def test_what_is_no_word_is_not_sent(word: str) -> None:
    with pytest.raises(UsageError, match="not printable"):
        quoted(word)


def cut(data: bytes, pieces: int) -> list[bytes]:
    size = max(1, len(data) // max(1, pieces))
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=50), st.integers(1, 99))
def test_only_what_stands_between_the_marks_is_taken(
    banner: bytes, payload: bytes, after: bytes, pieces: int
) -> None:
    marks = Marks("TOKEN-0123")
    everything = banner + b"\nTOKEN-0123 begin\n" + payload + b"TOKEN-0123 end 7\n" + after
    given_out = b"".join(marks.feed(piece) for piece in cut(everything, pieces))
    assert given_out == payload == bytes(marks.payload)
    assert marks.status == 7


@given(PIECES)
def test_without_marks_there_is_nothing(pieces: list[bytes]) -> None:
    marks = Marks("TOKEN-0123")
    assert all(marks.feed(piece) == b"" for piece in pieces)
    assert marks.status is None


@pytest.mark.parametrize("cut_at", [1, 10, 24, 25, 30, 39])
def test_a_script_whose_end_did_not_come_has_no_status(cut_at: int) -> None:
    marks = Marks("TOKEN-0123")
    whole = b"TOKEN-0123 begin\npayload\nTOKEN-0123 end 0\n"
    marks.feed(whole[:-cut_at])
    assert marks.status is None
    assert b"TOKEN" not in marks.payload


@pytest.mark.parametrize("number", [b"", b"x", b"-1", b"99999999999999999999"])
def test_a_status_that_is_none_is_a_failure(number: bytes) -> None:
    marks = Marks("T")
    marks.feed(b"T begin\nT end " + number + b"\n")
    assert marks.status == -1


@pytest.mark.parametrize(
    ("stderr", "hint"),
    [
        ("me@host: Permission denied (publickey).\n", "without a password"),
        ("Host key verification failed.\n", "right host"),
        ("ssh: Could not resolve hostname x: Name or service not known\n", "config"),
        ("kex_exchange_identification: Connection closed\n", "ssh -o BatchMode=yes me@host true"),
    ],
)
def test_why_a_host_cannot_be_reached_is_in_sshs_own_words(stderr: str, hint: str) -> None:
    error = LINK.lost(f"Warning: something\n{stderr}", 255)
    assert isinstance(error, InfrastructureError)
    assert error.title == f"ssh:me@host: {stderr.strip()}"
    assert hint in error.hint


def test_a_hosts_words_are_printable() -> None:
    assert "\x1b" not in LINK.lost("\x1b[2Jgone", 255).title


LOOK = """machine x86_64
release 6.1.0
user 0
cpus 8
place tmpfs /dev/shm
place ext2/ext3 /var/tmp
place overlayfs relative
config
CONFIG_X=y
"""


def test_what_a_host_says_of_itself() -> None:
    host = read_look(LOOK)
    assert (host.is_root, host.cpus) == (True, 8)
    assert host.places == (("tmpfs", "/dev/shm"), ("ext4", "/var/tmp"))
    assert host.config == "CONFIG_X=y\n"
    assert host.facts["release"] == "6.1.0"


@given(st.text(max_size=300))
def test_whatever_a_host_says_is_read(text: str) -> None:
    assert all(path[:1] == "/" for _, path in read_look(text).places)
    assert read_look(f"cpus {text}").cpus >= 1


def in_place_of_ssh(home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    path = home / "ssh"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")


HONEST = 'IFS= read -r s; eval "$s"'


def test_a_long_answer_comes_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_place_of_ssh(tmp_path, monkeypatch, HONEST)
    answer = LINK.ask("head -c 10000000 /dev/zero | tr '\\0' x; echo why >&2; exit 3")
    assert (answer.status, answer.out, answer.why) == (3, "x" * 10_000_000, "why")
    answer = LINK.ask("wc -c", bytes(3_000_000))
    assert answer.out == "3000000\n"


@pytest.mark.parametrize("channel", [1, 2])
def test_a_flood_is_cut_while_it_comes(
    channel: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place_of_ssh(tmp_path, monkeypatch, f"exec yes >&{channel}")
    with pytest.raises(InfrastructureError, match="it says more than 16777216 bytes"):
        LINK.ask(":")


@pytest.mark.parametrize("channel", [1, 2])
def test_a_host_that_goes_on_talking_is_left_at_the_deadline(
    channel: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"while :; do echo x >&{channel}; sleep 0.01; done & wait"
    in_place_of_ssh(tmp_path, monkeypatch, script)
    with pytest.raises(InfrastructureError, match="no answer within 1 s"):
        LINK.ask(":", deadline_s=1.0)
