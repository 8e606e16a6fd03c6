# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole runs on workers with caches of their own, which fail, or whose scheduler or client does."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from distributed import Client

from lsmeter.core import process
from lsmeter.machines.dask.scheduler import worker_command
from tests.conftest import Lsmeter, Wait

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

WORDS = ("run", "-s", "landlock", "-b", "getppid", "--quick", "--samples", "5", "--boots", "2")
BOOTS = 4

# What a worker does when it starts.
GARBAGE = "worker.boot = lambda text: bytes(99)"
OTHER = "worker.messages.__version__ = '0.0.0'"
FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))"
NOTED = """
def noted(make):
    async def boot(order, files):
        with open({made!r}, "a") as file:
            file.write(order.key + "\\n")
        return await make(order, files)
    return boot
if worker._boot.__name__ == "_boot":  # Dask loads this twice
    worker._boot = noted(worker._boot)
"""


@dataclass
class Cluster:
    """A scheduler at an address that stays, and workers; all end with the test."""

    home: Path
    stack: ExitStack
    port: int
    schedulers: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, *command: str, **extra: str) -> subprocess.Popen[str]:
        env = process.environment({"LSMETER_DATA": str(self.home / "other"), **extra})
        quiet = subprocess.DEVNULL
        return self.stack.enter_context(process.started(command, env=env, to=quiet, grace_s=0.5))

    def schedule(self) -> None:
        """Start a scheduler in place of the one before."""
        for before in self.schedulers:
            before.kill()
            before.wait()
        words = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
        command = (sys.executable, "-m", "distributed.cli.dask_scheduler", *words)
        self.schedulers.append(self.start(*command))

    def worker(self, name: str, does: str = "") -> subprocess.Popen[str]:
        """Start a worker with a cache of its own."""
        file = self.home / f"{name}.py"
        file.write_text(f"from lsmeter.machines.dask import worker\n{does}\n")
        words = ("--preload", str(file), "--local-directory", str(self.home / "dask"))
        command = worker_command(self.address, 1, name)
        return self.start(*command, *words, LSMETER_CACHE=str(self.home / name))

    def wait(self, workers: int) -> None:
        with Client(self.address, timeout=3600) as client:
            client.wait_for_workers(workers)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with ExitStack() as stack:
        found = Cluster(tmp_path, stack, port)
        found.schedule()
        yield found


def readings(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(home.glob("boots/*/samples.parquet"))]


def test_bad_workers_are_named_and_the_good_one_makes_every_boot(
    cluster: Cluster, lsmeter: Lsmeter, tmp_path: Path
) -> None:
    for name, does in {"liar": GARBAGE, "full": FULL, "other": OTHER, "good": ""}.items():
        cluster.worker(name, does)
    cluster.wait(4)
    done = lsmeter(*WORDS, "--machine", f"dask:{cluster.address}", "--run-dir", "run")
    assert done.code == 0, done.err
    said = {line.split()[1]: line for line in done.err.splitlines() if "is not used" in line}
    assert "3 boots in a row failed there: garbage" in said["liar"]
    assert "cannot write" in said["full"]
    assert "lsmeter 0.0.0, not" in said["other"]
    assert len(said) == 3 and len(readings(tmp_path / "run")) == BOOTS


def test_a_client_that_is_started_again_takes_the_boot_that_was_made_meanwhile(
    cluster: Cluster, lsmeter: Lsmeter, tmp_path: Path, wait_for: Wait[bool]
) -> None:
    made = tmp_path / "made"
    cluster.worker("one", NOTED.format(made=str(made)))
    words = (*WORDS, "--machine", f"dask:{cluster.address}", "--fresh", "--run-dir")
    with lsmeter.start(*words, "first") as run:
        wait_for(made.exists)
        run.send_signal(signal.SIGKILL)
    wait_for(lambda: any((tmp_path / "one/replies").glob("*")))
    done = lsmeter(*words, "second")
    assert done.code == 0, done.err
    keys = made.read_text().split()
    assert len(keys) == len({*keys}) == len(readings(tmp_path / "second")) == BOOTS


def test_a_run_outlives_its_scheduler(
    cluster: Cluster, lsmeter: Lsmeter, tmp_path: Path, wait_for: Wait[bool]
) -> None:
    made = tmp_path / "made"
    cluster.worker("one", NOTED.format(made=str(made)))
    words = (*WORDS, "--machine", f"dask:{cluster.address}", "--run-dir", "run")
    with lsmeter.start(*words) as run:
        wait_for(made.exists)
        cluster.schedule()
        cluster.start(sys.executable, "-m", "lsmeter", "worker", cluster.address, "--guests", "1")
        _, err = run.communicate()
    assert run.returncode == 0, err
    assert "worker one (" in err and ") is gone" in err
    assert len(readings(tmp_path / "run")) == BOOTS


def test_a_command_is_sent_with_its_files(cluster: Cluster, lsmeter: Lsmeter) -> None:
    cluster.worker("one")
    words = ("exec", "-s", "landlock", "--boots", "1", "--machine", f"dask:{cluster.address}")
    done = lsmeter(*words, "--", "/bin/true")
    assert done.code == 0, done.err
    assert "landlock adds +" in done.out
