# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of the whole command share: running it, in a place of its own."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import hypothesis
import pytest

from lsmeter.app import main
from lsmeter.core.model import Kernel
from lsmeter.sources.kernels.resolve import resolve

T = TypeVar("T")
Wait = Callable[[Callable[[], T]], T]

# Of what should have ended long before, on a machine at any load: what hangs fails in the end.
DEADLINE_S = 3600.0

# A busy machine is no failure; targets are measured in bench/.
hypothesis.settings.register_profile(
    "any-machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any-machine")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Lsmeter:
    """The real command, with results in a directory of its own and the shared kernel cache."""

    home: Path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            **os.environ,
            "LSMETER_DATA": str(self.home / "data"),
            "COLUMNS": "80",
            "NO_COLOR": "1",
            **(extra or {}),
        }

    def start(self, *words: str, **extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "lsmeter", *words],
            cwd=self.home,
            env=self.environment(extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str, **extra: str) -> Done:
        with self.start(*words, **extra) as process:
            try:
                out, err = process.communicate(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                raise
        assert "Traceback" not in err, err
        return Done(process.returncode, out, err)


@pytest.fixture
def lsmeter(tmp_path: Path) -> Lsmeter:
    return Lsmeter(tmp_path)


@dataclass(frozen=True)
class InProcess(Lsmeter):
    """The same command line inside the test's process: its libraries are loaded once."""

    patch: pytest.MonkeyPatch

    def __call__(self, *words: str, **extra: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with self.patch.context() as patch:
            for name, value in self.environment(extra).items():
                patch.setenv(name, value)
            patch.chdir(self.home)
            patch.setattr(sys, "argv", ["lsmeter", *words])
            with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
                main()
        return Done(int(left.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    return InProcess(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def debian_kernel() -> Kernel:
    """Return Debian's 6.1 cloud kernel, fetched once into the cache."""
    return resolve("debian:6.1")


@pytest.fixture(scope="session")
def policy_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the image `policy`: from the cache, else built now, which takes minutes."""
    done = subprocess.run(
        [sys.executable, "-m", "lsmeter", "image", "build", "policy"],
        cwd=tmp_path_factory.mktemp("image"),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture
def wait_for() -> Wait[T]:
    """Return a function that waits until a condition holds, and fails if it never does."""
    import time  # noqa: PLC0415

    def wait(condition: Callable[[], T]) -> T:
        end = time.monotonic() + DEADLINE_S
        while not (found := condition()):
            assert time.monotonic() < end, "the condition never held"
            time.sleep(0.02)
        return found

    return wait
