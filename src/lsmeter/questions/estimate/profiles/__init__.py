# SPDX-License-Identifier: GPL-2.0-or-later
"""System-call profiles of real services: what other programs counted, read strictly.

Nothing of a profile is run or believed without a check; its size is bounded.
"""

from __future__ import annotations

from pathlib import Path

from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import read_file
from lsmeter.questions.estimate.profiles import perf, strace
from lsmeter.questions.estimate.profiles.model import Profile

_KINDS = ((perf.is_summary, perf.parse), (strace.is_summary, strace.parse))
MAX_FILE_BYTES = 64 << 20  # perf trace -S writes every call above its summary
_HINT = "strace -c -f -o FILE -p PID; perf trace -s -o FILE -p PID -- sleep 10; or a workload's run"


def read_profile(path: Path) -> Profile:
    """Read a profile; UsageError says in one line what is wrong with a file that is none."""
    where = f"--profile: {path}"
    try:
        data = read_file(path, MAX_FILE_BYTES, "a profile", where="--profile", hint=_HINT)
    except OSError as error:
        raise UsageError(f"{where}: cannot read it: {error.strerror}", hint=_HINT) from error
    return parse_profile(data, where)


def parse_profile(data: bytes, where: str) -> Profile:
    """Read the bytes of a profile, whoever wrote it; where names the file."""
    # Commands and arguments of other programs may hold any byte; tables are ASCII.
    lines = data.decode("ascii", "replace").removesuffix("\n").split("\n")
    for is_summary, parse in _KINDS:
        if is_summary(lines):
            found = parse(lines, where)
            if not found.total:
                raise UsageError(f"{where}: it has no system call", hint=_HINT)
            return found
    said = (
        "it is empty" if not data.strip() else "neither a summary of strace -c nor of perf trace -s"
    )
    raise UsageError(f"{where}: {said}", hint=_HINT)
