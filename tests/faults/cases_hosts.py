# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts behind ssh that are not what they should be, and a KVM that hangs.

A program in ssh's place stands for the host; a real sshd is in tests/end_to_end/test_ssh.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import Ended, Field

_TIMED = ("run", "--instrument", "timed", "-b", "stat depth=4", "--boots", "1", "--run-dir", "run")
_HOSTS = {
    "nobody answers": ("echo 'ssh: connect to host h: Connection refused' >&2; exit 255", 7),
    "no key": ("echo 'h: Permission denied (publickey).' >&2; exit 255", 7),
    "a stranger": ("echo 'Host key verification failed.' >&2; exit 255", 7),
    "no name": ("echo 'ssh: Could not resolve hostname h: no' >&2; exit 255", 7),
    "a shell that may not be used": ("echo 'This account is not available.'; exit 1", 7),
    "a flood before anything": ("head -c 40000000 /dev/zero; exit 0", 7),
    "an endless flood": ("exec yes", 7),
    "an endless flood of complaints": ("exec yes >&2", 7),
    "a flood behind its last mark": (
        'IFS= read -r s; eval "${s%%(*}"; echo "${s##*; echo }0"; yes',
        7,
    ),
    "another architecture": ('IFS= read -r s; eval "uname() { echo riscv64; }; $s"', 7),
    "markers of its own": ("echo 'LSMETER-0 begin'; echo 'LSMETER-0 end 0'; exit 0", 7),
    "it says nothing of itself": ('read -r s; eval "${s%%(*}"; eval "${s##*)}"', 7),
}
# What a host does once a block is to run: it is sent what begins it, what ends it, and a script.
_BLOCKS = {
    "floods": "exec yes",
    "floods in one line": "exec tr '\\0' / </dev/zero",
    "floods after its mark": 'eval "${s%%(*}"; exec yes',
    "floods in one line after its mark": 'eval "${s%%(*}"; exec tr "\\0" / </dev/zero',
    "floods with complaints": "exec yes >&2",
    "floods with complaints after its mark": 'eval "${s%%(*}"; exec yes >&2',
}
_LOST = dict.fromkeys(
    ("floods after its mark", "floods in one line after its mark"), "no directory"
)
_SAYS = {
    "nobody answers": "connection refused",
    "no key": "without a password",
    "a stranger": "host key verification failed",
    "no name": "could not resolve hostname",
    "an endless flood": "more than 16777216 bytes",
    "an endless flood of complaints": "more than 16777216 bytes",
    "a flood behind its last mark": "more than 16777216 bytes",
    "another architecture": "its processor is riscv64",
    "a shell that may not be used": "its login shell ended with status 1 before anything",
}


def _program(field: Field, name: str, script: str) -> None:
    programs = field.home / "programs"
    programs.mkdir(exist_ok=True)
    path = programs / name
    path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    field.env["PATH"] = f"{programs}:{os.environ['PATH']}"


def _host(script: str, field: Field) -> Ended:
    _program(field, "ssh", script)
    return field(*_TIMED, "--machine", "ssh:h")


def _block(script: str, field: Field) -> Ended:
    """Answer every question as this machine does, but what is to be measured."""
    asked = f'case "$s" in *native*) {script};; *) eval "$s";; esac'
    return _host(f"IFS= read -r s; {asked}", field)


def _words(words: tuple[str, ...], field: Field) -> Ended:
    _program(field, "ssh", f"touch {field.home}/started; exit 255")
    ended = field(*_TIMED, *words)
    assert not (field.home / "started").exists()
    return ended


def _without_ssh(field: Field) -> Ended:
    """Leave a PATH with what Python needs, and no ssh."""
    programs = field.home / "programs"
    programs.mkdir()
    for name in ("sh", "env", "setpriv"):
        found = Path("/usr/bin") / name
        (programs / name).symlink_to(found)
    field.env["PATH"] = str(programs)
    return field(*_TIMED, "--machine", "ssh:h")


def _pair_gone(field: Field) -> Ended:
    (field.home / "mine.toml").write_text(
        'title = "t"\nunit = "u"\n[[benchmarks]]\noperation = "a"\ntitle = "a"\nunits = 1\n'
        'client = ["true"]\n',
        encoding="utf-8",
    )
    _program(field, "ssh", "echo 'Connection closed' >&2; exit 255")
    hosts = ("--server", "ssh:a", "--client", "ssh:b")
    return field("run", "--instrument", "timed", "--suite", "./mine.toml", *hosts)


def _case(name: str, inject: Callable[[Field], Ended], code: int, says: str = "") -> Case:
    return Case(
        "hosts",
        name,
        inject,
        frozenset({code}),
        says,
        sound=False,
        recovers=False,
    )


CASES = [
    *(
        _case(name, partial(_host, script), code, _SAYS.get(name, "error: "))
        for name, (script, code) in _HOSTS.items()
    ),
    *(
        _case(f"a host {name}", partial(_block, script), 1, _LOST.get(name, "exceeds the"))
        for name, script in _BLOCKS.items()
    ),
    *(
        _case(f"named {word!r}", partial(_words, ("--machine", word)), 2, "names no host")
        for word in (
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "ssh:$(x)",
            "ssh:a;b",
            "ssh:a\nb",
            "ssh:a:b",
        )
    ),
    _case("two kinds of machines", partial(_words, ("--machine", "ssh:a", "--machine", "here")), 2),
    _case("no ssh", _without_ssh, 7, "apt-get install openssh-client"),
    _case("a server that is gone", _pair_gone, 7, "ssh:a: connection closed"),
]
