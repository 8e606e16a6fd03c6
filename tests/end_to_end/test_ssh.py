# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts behind a real ssh: what is measured there, and what becomes of a host that is unwell."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsmeter.machines import remote, ssh
from tests.conftest import Done, InProcess, Wait
from tests.sshd import Sshd, find_sshd, free_port, serving

pytestmark = pytest.mark.skipif(find_sshd() is None, reason="there is no sshd")
ROOT = os.geteuid() == 0
RUN = ("run", "--instrument", "timed", "-s", "landlock", "-b", "stat depth=4", "--run-dir", "r")
FEW = ("--boots", "2", "--samples", "20", "--format", "json")


@pytest.fixture
def host(tmp_path: Path, wait_for: Wait[bool]) -> Iterator[Sshd]:
    with serving(Sshd(tmp_path / "sshd", free_port())) as server:
        wait_for(server.answers)
        yield server


def left(place: Path) -> list[Path]:
    return list(place.glob("lsmeter-*-????????"))


def measure(in_process: InProcess, host: Sshd, *words: str, machine: str = "ssh:alpha") -> Done:
    config = {"LSMETER_SSH_CONFIG": str(host.config)}
    machines = (word for name in machine.split() for word in ("--machine", name))
    return in_process(*RUN, *FEW, *machines, *words, **config)


def boots(in_process: InProcess) -> list[dict[str, object]]:
    files = sorted((in_process.home / "r/boots").glob("*/boot.json"))
    found = [json.loads(path.read_bytes()) for path in files]
    return [item["boot"] for item in found]


def test_two_hosts_are_measured_and_stand_apart(in_process: InProcess, host: Sshd) -> None:
    done = measure(in_process, host, machine="ssh:alpha ssh:beta")
    assert done.code == 0, done.err
    text = json.dumps(json.loads(done.out))
    assert "ssh:alpha" in text
    assert "ssh:beta" in text
    made = boots(in_process)
    assert len(made) == 2 * 3 * 2  # boots of running, the same again, landlock; on each host
    facts = [dict(boot["facts"]) for boot in made]  # type: ignore[call-overload]
    assert all(int(fact["timing.hz"]) > 0 for fact in facts)
    assert all(fact["host.kernel"] == os.uname().release for fact in facts)
    assert {fact["filesystem"] for fact in facts} == {"tmpfs"}


def test_a_login_that_prints_is_no_result(in_process: InProcess, host: Sshd) -> None:
    for name in (".bashrc", ".bash_profile", ".profile"):
        banner = "echo 'Welcome! 0 hello version=1 *00000000'; echo 'LSMETER begin' >&2\n"
        (host.account / name).write_text(banner, encoding="utf-8")
    done = measure(in_process, host)
    assert done.code == 0, done.err
    assert {boot["status"] for boot in boots(in_process)} == {"ok"}


def test_nothing_is_left_on_a_host(in_process: InProcess, host: Sshd, tmp_path: Path) -> None:
    place = tmp_path / "place"
    with subprocess.Popen(["true"]) as ended:
        # Of a shell that was killed there.
        (place / f"lsmeter-{ended.pid}-abcdefgh/data").mkdir(parents=True)
    words = ("--filesystem", "tmpfs") if ROOT else ()
    done = measure(in_process, host, *words, machine=f"ssh:alpha:{place}")
    assert done.code == (0 if ROOT else 7), done.err
    assert list(place.iterdir()) == []


@pytest.mark.skipif(not ROOT, reason="a tmpfs of one's own takes root")
def test_a_connection_that_breaks_is_made_again(
    in_process: InProcess,
    host: Sshd,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    wait_for: Wait[bool],
) -> None:
    monkeypatch.setattr(ssh, "_BACK_S", 0.1)
    place = tmp_path / "place"
    place.mkdir()
    broken = threading.Event()

    def break_it() -> None:
        while not broken.is_set():
            if host.runs(b"native"):
                host.drop()
                broken.set()

    breaker = threading.Thread(target=break_it)
    breaker.start()
    try:
        words = ("--samples", "20000", "--boots", "1")
        done = measure(in_process, host, *words, machine=f"ssh:alpha:{place}")
    finally:
        was_broken = broken.is_set()
        broken.set()
        breaker.join()
    assert was_broken
    assert done.code == 0, done.err
    assert {boot["status"] for boot in boots(in_process)} == {"ok"}
    wait_for(lambda: left(place) == [])  # the host cleans up in its own time


def test_a_host_that_stays_away_is_told_and_resumed(
    in_process: InProcess, host: Sshd, monkeypatch: pytest.MonkeyPatch, wait_for: Wait[bool]
) -> None:
    monkeypatch.setattr(ssh, "_BACK_S", 0.01)
    monkeypatch.setattr(ssh, "_TRIES", 2)
    kept = ssh.Ssh.run
    made: list[Any] = []

    async def run(self: ssh.Ssh, *words: object) -> object:
        if made:  # the host goes down after the first block
            host.drop()
            host.stop()
        made.append(words)
        return await kept(self, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(ssh.Ssh, "run", run)
    done = measure(in_process, host)
    assert done.code == 1, done.err
    status = sorted(str(boot["status"]) for boot in boots(in_process))
    assert status == ["infrastructure"] * 5 + ["ok"]
    assert done.err.count("infrastructure ssh:alpha") == 5
    assert "Connection refused" in done.err or "connection was lost" in done.err
    monkeypatch.setattr(ssh.Ssh, "run", kept)
    host.start()
    wait_for(host.answers)
    again = measure(in_process, host)
    assert again.code == 0, again.err
    assert {boot["status"] for boot in boots(in_process)} == {"ok"}


def test_a_stranger_is_refused_by_the_users_own_rules(in_process: InProcess, host: Sshd) -> None:
    known = host.home / "known_hosts"
    other = (host.home / "user_key.pub").read_text("utf-8")
    known.write_text(f"[127.0.0.1]:{host.port} {other}", encoding="utf-8")
    done = measure(in_process, host)
    assert done.code == 7
    assert "error: ssh:alpha: Host key verification failed" in done.err
    assert known.read_text("utf-8").count("\n") == 1


@pytest.mark.parametrize(
    ("uname", "said"), [("aarch64", "its processor is aarch64"), ("", "is not told")]
)
def test_another_architecture_is_told_before_anything_is_copied(
    in_process: InProcess, host: Sshd, uname: str, said: str
) -> None:
    programs = host.account / "bin"
    programs.mkdir()
    for name, does in {"uname": f"echo {uname}", "tar": f"touch {host.home}/copied"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    path = f"PATH={programs}:/usr/bin:/bin"
    config = host.home / "sshd_config"
    config.write_text(config.read_text("utf-8").replace("SetEnv ", f"SetEnv {path} "), "utf-8")
    host.stop()
    host.start()
    while not host.answers():
        pass
    done = measure(in_process, host)
    assert done.code == 7
    assert said in done.err
    assert not (host.home / "copied").exists()


def test_a_directory_that_cannot_be_used(in_process: InProcess, host: Sshd, tmp_path: Path) -> None:
    done = measure(in_process, host, machine=f"ssh:alpha:{tmp_path}/absent")
    assert done.code == 7
    assert f"{tmp_path}/absent is no directory that alpha may write to" in done.err
    assert "hint: name another: ssh:alpha:/DIRECTORY" in done.err


@pytest.mark.skipif(not ROOT, reason="mounting takes root")
@pytest.mark.parametrize(
    ("options", "said"),
    [("size=200k", "no space left: "), ("noexec", "is it mounted noexec?")],
)
def test_a_disk_that_is_full_or_runs_nothing(
    in_process: InProcess, tmp_path: Path, wait_for: Wait[bool], options: str, said: str
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    script = f'mount -t tmpfs -o {options} none {small} && exec "$@"'
    through = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    with serving(Sshd(tmp_path / "sshd", free_port(), through=through)) as server:
        wait_for(server.answers)
        done = measure(in_process, server, machine=f"ssh:alpha:{small}")
        assert done.code == 7
        assert f"error: ssh:alpha: cannot {'run' if options == 'noexec' else 'write'}" in done.err
        assert said in done.err
        assert len(done.err.strip().splitlines()) < 10


@pytest.mark.skipif(not ROOT, reason="another network takes root")
def test_a_host_in_another_network(
    in_process: InProcess, tmp_path: Path, wait_for: Wait[bool]
) -> None:
    """Only its proxy reaches it, as the user's ssh config says."""
    script = 'ip link set lo up && exec "$@"'
    through = ("unshare", "--net", "sh", "-c", script, "sh")
    with serving(Sshd(tmp_path / "sshd", free_port(), through=through)) as server:
        assert server.process is not None
        enter = f"nsenter --net=/proc/{server.process.pid}/ns/net"
        proxy = f"  ProxyCommand {enter} {find_sshd()} -i -f {server.home}/sshd_config\n"
        server.config.write_text(server.config.read_text("utf-8") + proxy, "utf-8")
        wait_for(lambda: b"listening" in (server.home / "log").read_bytes())
        assert not server.answers()
        done = measure(in_process, server)
        assert done.code == 0, done.err


def test_a_host_that_never_answers_is_given_up(
    in_process: InProcess, host: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ASK_S", 1.0)
    monkeypatch.setattr(remote.Link.ask, "__defaults__", (b"", 1.0))
    (host.account / ".bashrc").write_text("sleep 600\n", encoding="utf-8")
    done = measure(in_process, host)
    assert done.code == 7
    assert "no answer within 1 s" in done.err


def test_no_config_at_the_place_that_is_named(in_process: InProcess) -> None:
    done = in_process(*RUN, "--machine", "ssh:alpha", LSMETER_SSH_CONFIG="nowhere")
    assert done.code == 2
    assert "LSMETER_SSH_CONFIG: nowhere: no such file" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--machine", "ssh:-oProxyCommand=touch x"), "names no host"),
        (("--machine", "here", "--machine", "ssh:a"), "only hosts behind ssh can be several"),
        (("--machine", "ssh"), "which host?"),
        (("--machine", "ssb:alpha"), "did you mean ssh?"),
    ],
)
def test_words_that_name_no_host(in_process: InProcess, words: tuple[str, ...], said: str) -> None:
    done = in_process(*RUN, *words)
    assert done.code == 2
    assert said in done.err
    assert not (in_process.home / "x").exists()
