# SPDX-License-Identifier: GPL-2.0-or-later
"""A place for one fault: the real command in a process of its own, over recorded guests.

Commands run as children of a fork server that has loaded lsmeter once, which makes a case cost a
tenth of a second; `own=True` starts Python anew, for what is decided at its start (encodings,
limits of memory).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
FIVE = "getppid", "open depth=[12]", "stat depth=[12]"
MAIN = (
    *("run", "--setup", "capability", "--setup", "selinux", "--baseline", "capability"),
    *(word for name in FIVE for word in ("--benchmark", name)),
    *("--samples", "20", "--kernel", "./kernel", "--machine", "replay", "--run-dir", "run"),
)
REPORT = ("report", "run", "--format", "json")
# Not a target: what a machine at a load of 25 needs is far below.
DEADLINE_S = 300.0
MARK = "LSMETER_FAULT_FIELD"

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "lsmeter.app",
        "lsmeter.measure.run.execute",
        "lsmeter.questions.cost.build",
        "pydantic",
        "scipy.stats",
    ]
)

# Python started anew under limits; then it is what `python -m lsmeter` is.
_LIMITED = """
import json, os, resource, sys
for which, most in json.loads(sys.argv[1]):
    resource.setrlimit(which, (most, most))
os.execv(sys.executable, [sys.executable, "-m", "lsmeter", *sys.argv[2:]])
"""

Files = tuple[str, str]  # where standard output and standard error go
Limits = Mapping[int, int]  # RLIMIT_… and its value


@dataclass(frozen=True)
class Ended:
    """How a command ended; code is negative for a signal, None when it hung and was killed."""

    words: tuple[str, ...]
    code: int | None
    out: str
    err: str

    @property
    def text(self) -> str:
        """Return all that was said."""
        return self.out + self.err


def _child(
    words: tuple[str, ...], home: str, env: dict[str, str], files: Files, limits: dict[int, int]
) -> None:
    from lsmeter.__main__ import main  # noqa: PLC0415  (loaded by the server)

    os.setsid()
    os.chdir(home)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(files, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["lsmeter", *words]
    main()


@dataclass
class Field:
    """A home, a store, a cache and a directory for temporary files, all of one case."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)
    mend: Callable[[], object] = lambda: None

    @property
    def run_dir(self) -> Path:
        """Return the run directory of the main command."""
        return self.home / "run"

    @property
    def store(self) -> Path:
        """Return where boots are kept for later runs."""
        return self.home / "data" / "boots"

    @property
    def temporary(self) -> Path:
        """Return the directory for temporary files, which a command leaves empty."""
        return self.home / "tmp"

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a command."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home / "user"),
            "LANG": "C.UTF-8",
            "LSMETER_DATA": str(self.home / "data"),
            "LSMETER_CACHE": str(self.home / "cache"),
            "LSMETER_REPLAY": str(CAPTURES),
            "TMPDIR": str(self.temporary),
            "COLUMNS": "80",
            "NO_COLOR": "1",
            MARK: str(self.home),
            "PYTHONDONTWRITEBYTECODE": "1",  # a limit on the size of files would cut it short
            **self.env,
        }

    def own_captures(self) -> Path:
        """Give the field recordings of its own, to be damaged, and return their directory."""
        target = self.home / "captures"
        if not target.exists():
            shutil.copytree(CAPTURES, target)
        self.env["LSMETER_REPLAY"] = str(target)
        self.mend = lambda: self.env.pop("LSMETER_REPLAY")
        return target

    def __call__(
        self,
        *words: str,
        own: bool = False,
        limits: Limits | None = None,
        files: Files | None = None,
        meddle: Callable[[int], object] | None = None,
    ) -> Ended:
        """Run the command to its end; `meddle` gets its process number once it has started."""
        names = files or (str(self.home / ".out"), str(self.home / ".err"))
        start = self._start_own if own else self._start
        pid, wait = start(words, names, dict(limits or {}))
        if meddle is not None:
            meddle(pid)
        code = wait()
        out, err = (_taken(Path(name)) for name in names)
        return Ended(words, code, out, err)

    def _start(
        self, words: tuple[str, ...], names: Files, limits: dict[int, int]
    ) -> tuple[int, Callable[[], int | None]]:
        process = _SERVER.Process(
            target=_child, args=(words, str(self.home), self.environment(), names, limits)
        )
        process.start()

        def wait() -> int | None:
            process.join(DEADLINE_S)
            code = process.exitcode
            if code is None:
                process.kill()
                process.join()
            process.close()
            return code

        return process.pid or 0, wait

    def _start_own(
        self, words: tuple[str, ...], names: Files, limits: dict[int, int]
    ) -> tuple[int, Callable[[], int | None]]:
        with Path(names[0]).open("ab") as out, Path(names[1]).open("ab") as err:
            process = subprocess.Popen(
                [sys.executable, "-c", _LIMITED, json.dumps([*limits.items()]), *words],
                cwd=self.home,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

        def wait() -> int | None:
            try:
                return process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return None

        return process.pid, wait

    def main(self, *more: str) -> Ended:
        """Run the main command."""
        return self(*MAIN, *more)

    def processes(self) -> list[int]:
        """Return the processes that a command left behind."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"{MARK}={self.home}\0".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found


def until(condition: Callable[[], object], pid: int) -> None:
    """Wait until a condition holds or the process has ended."""
    end = time.monotonic() + DEADLINE_S
    while not condition() and Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.01)


def _taken(path: Path) -> str:
    """Read what a command said, and take it away; nothing where it went elsewhere."""
    if not path.is_file():
        return ""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    path.unlink()
    return text
