# SPDX-License-Identifier: GPL-2.0-or-later
"""Services that already run on one host, under load from another, over a real ssh."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsmeter.machines.pair import encoded, read_batch
from lsmeter.machines.remote import Answer
from tests.conftest import Done, InProcess, Wait
from tests.sshd import Sshd, find_sshd, free_port, serving

needs_sshd = pytest.mark.skipif(find_sshd() is None, reason="there is no sshd")
RUN = ("run", "--instrument", "timed", "--server", "ssh:alpha", "--client", "ssh:beta")
FEW = ("--boots", "2", "--samples", "3", "--warmup", "1", "--monitor", "20", "--run-dir", "r")
CLIENT = """import sys, time, urllib.request
units, url = int(sys.argv[1]), sys.argv[2]
took = []
for _ in range(units):
    begin = time.monotonic()
    assert len(urllib.request.urlopen(url).read()) == {size}
    took.append(1000 * (time.monotonic() - begin))
took.sort()
print("a line before")
print(f"units={{units}} failed=0 p50_ms={{took[units // 2]:.3f}} p99_ms={{took[-1]:.3f}}")
"""
WORKLOAD = """title = "a page of a server that runs already"
unit = "request"

[[services]]
name = "http"
process = "python3"
start = ["/bin/false"]
ready = {ready}

[[checks]]
name = "page"
ask = ["/bin/sh", "-c", "echo 'it is' \\"there\\""]
allowed = "it is there"
denied = "refused"

[[benchmarks]]
operation = "page"
title = "a page"
units = 20
client = ["{python}", "{script}", "{{units}}", "{url}"]
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Give the address of a service that runs already."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/page").write_bytes(b"x" * 1000)
    port = str(free_port())
    words = [sys.executable, "-m", "http.server", "-b", "127.0.0.1", "-d", "site", port]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, cwd=tmp_path, stdout=quiet, stderr=quiet) as server:
        yield f"http://127.0.0.1:{port}/page"
        server.kill()


@pytest.fixture
def config(tmp_path: Path, wait_for: Wait[bool]) -> Iterator[Path]:
    """Give an ssh configuration with two hosts."""
    hosts = [Sshd(tmp_path / name, free_port(), names=(name,)) for name in ("alpha", "beta")]
    with serving(hosts[0]), serving(hosts[1]):
        for host in hosts:
            wait_for(host.answers)
        both = tmp_path / "ssh_config"
        both.write_text("".join(host.config.read_text("utf-8") for host in hosts), "utf-8")
        yield both


def workload(in_process: InProcess, url: str, size: int = 1000, ready: str = '["true"]') -> str:
    script = in_process.home / "client.py"
    script.write_text(CLIENT.format(size=size), encoding="utf-8")
    text = WORKLOAD.format(python=sys.executable, script=script, url=url, ready=ready)
    (in_process.home / "mine.toml").write_text(text, encoding="utf-8")
    return "mine.toml"


def measure(in_process: InProcess, config: Path, file: str, *words: str) -> Done:
    return in_process(*RUN, *FEW, "--suite", file, *words, LSMETER_SSH_CONFIG=str(config))


def boots(in_process: InProcess) -> list[dict[str, Any]]:
    files = sorted((in_process.home / "r/boots").glob("*/boot.json"))
    return [json.loads(path.read_bytes())["boot"] for path in files]


@needs_sshd
def test_a_service_of_ones_own_is_timed_from_another_host(
    in_process: InProcess, config: Path, site: str
) -> None:
    file = workload(in_process, site, ready='["test", "-e", "/proc/1"]')
    done = measure(in_process, config, file)
    assert done.code == 0, done.err
    assert "ssh:alpha from ssh:beta" in done.err
    assert "units/s" in done.out
    assert "p99_ms" in done.out
    made = boots(in_process)
    assert len(made) == 4
    for boot in made:
        (samples,) = boot["samples"]
        assert boot["status"] == "ok"
        assert dict(boot["facts"])["timing.operations.page"] == "20"
        assert [line.split()[0] for line in samples["said"]] == ["units=20"] * 3
        assert all("p99_ms=" in line for line in samples["said"])
    shown = in_process("monitor", "r", "-s", "running", "--format", "json")
    assert shown.code == 0, shown.err
    (over_time,) = json.loads(shown.out)["boots"]
    known = [item for item in over_time["series"] if any(v is not None for v in item["values"])]
    assert {"cpu_user_percent", "cpu_system_percent"} <= {item["name"] for item in known}
    assert any(item["group"] == "network" for item in known)


@needs_sshd
def test_what_is_not_answered_as_it_must_be_is_not_timed(
    in_process: InProcess, config: Path, site: str
) -> None:
    done = measure(in_process, config, workload(in_process, site, size=999), "--boots", "1")
    assert done.code == 1
    (samples,) = boots(in_process)[0]["samples"]
    assert samples["status"] == "failed"
    assert "the client ended with status 1: AssertionError" in samples["detail"]


@needs_sshd
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--server", "ssh:a"), "name a host each"),
        (("--client", "ssh:a"), "name a host each"),
        (("--server", "ssh:a", "--client", "ssh:b", "--machine", "kvm"), "no --machine goes"),
        (("--server", "ssh:a", "--client", "ssh:a"), "two different hosts"),
        (("--machine", "here", "--suite", "web"), "no service is started on a machine as it runs"),
        (("--client", "host", "--machine", "tcg", "--suite", "web"), "which host?"),
    ],
)
def test_hosts_that_are_none(in_process: InProcess, words: tuple[str, ...], said: str) -> None:
    done = in_process("run", "--instrument", "timed", *words)
    assert done.code == 2, done.err
    assert said in done.err


@pytest.mark.parametrize(
    ("out", "wrong"),
    [
        ("1700000000000000000 1700000001000000000 5.00 6.01 0\nunits=1", ""),
        ("1700000000000000000 1700000009000000000 5.00 6.01 0\nx", "was set in the middle"),
        ("1700000000000000000 1690000000000000000 5.00 6.01 0\nx", "was set in the middle"),
        ("1700000000000000000 1700000001000000000 5.00 6.01 7\nno", "status 7: no"),
        ("1700000000N 1700000000N 5.00 6.01 0\nx", "no time in nanoseconds"),
        (f"1700000000000000000 1700000001000000000 5.00 {'9' * 400}.00 0\nx", "no time in nano"),
        ("", "no time in nanoseconds"),
    ],
)
def test_a_batch_is_read_or_refused(out: str, wrong: str) -> None:
    took_ns, _, why = read_batch(Answer(0, out, ""))
    assert wrong in why
    assert bool(why) == bool(wrong)
    assert why or took_ns == 10**9


def test_texts_are_written_as_the_probe_writes_them() -> None:
    assert encoded("a b~\x1b\n%é") == "a%20b%7e%1b%0a%25%c3%a9"
