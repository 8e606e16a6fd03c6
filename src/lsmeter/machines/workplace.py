# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the probe works on a machine as it runs: a directory of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.host import text_of
from lsmeter.core.model import Setup
from lsmeter.core.model.setup import Step
from lsmeter.core.owners import stranger_of
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import cache_dir, data_dir
from lsmeter.guest.boot_image import make_request, setup_files
from lsmeter.measure.experiment.plan import PlannedBoot

WORK = "LSMETER_WORK"
# What setups name by a guest's paths stands beneath the directory.
_PLACES = ("/data", "/outside", "/setup", "/rules")


@contextmanager
def workplace(filesystem: str) -> Iterator[Path]:
    """Give an empty directory on a file system of this name, or for root to mount a tmpfs in."""
    with scratch("here", find_base(filesystem)) as top:
        top.chmod(0o755)  # an ordinary user works in it
        yield top


def find_base(filesystem: str) -> Path:
    """Return a directory on a file system of this name; an error says how to name one."""
    named, is_root = os.environ.get(WORK), os.geteuid() == 0
    temporary = Path(tempfile.gettempdir())
    if named:
        path = Path(named).absolute()
        if not path.is_dir():
            raise UsageError(f"{WORK}: {path}: no such directory", hint="make it first: mkdir -p")
        places = [path]
    elif filesystem == "tmpfs" and is_root:
        places = [temporary]
    elif filesystem == "tmpfs":
        own = os.environ.get("XDG_RUNTIME_DIR")
        places = [*([Path(own)] if own else []), Path("/dev/shm"), temporary]  # noqa: S108
    else:
        places = [Path.cwd(), cache_dir(), data_dir(), temporary, Path("/var/tmp")]  # noqa: S108
    # Root must be the only one who can move what it works in.
    strangers = {place: stranger_of(place, shared=True) for place in places}
    for place in places:
        if strangers[place] or not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
            continue
        # Root mounts a tmpfs in any.
        if (filesystem == "tmpfs" and is_root) or type_of(place) == filesystem:
            return place
    looked = ", ".join(
        f"{place} ({why})" if why else f"{place}" for place, why in strangers.items()
    )
    raise InfrastructureError(
        f"no directory on {filesystem} that can be written to (looked at {looked})",
        hint=f"name one: {WORK}=DIRECTORY lsmeter run ...",
    )


def type_of(path: Path) -> str:
    """Return the name of the file system that a directory is on; "" where it is not told."""
    device = path.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    found = ""
    for line in text_of(Path("/proc/self/mountinfo")).splitlines():
        head, _, tail = line.partition(" - ")
        if head.split()[2:3] == [wanted]:
            found = tail.split()[0]
    return found


def files_for(planned: PlannedBoot, top: Path, benchmark_ms: int) -> dict[str, bytes]:
    """Return the request and the setup's files, by their path beneath the directory `top`."""
    request = make_request(planned.cell, planned.seed, benchmark_ms)
    request = replace(request, setup=relocated(planned.cell.setup, top))
    files = {name.lstrip("/"): data for name, data in setup_files(planned.cell).items()}
    return {"request": request.to_bytes(), **files}


def relocated(setup: Setup, top: Path) -> Setup:
    """Return the setup with what it names by a guest's paths beneath `top`."""

    def there(word: str) -> str:
        parts = word.split(":") if word.startswith("/") else [word]
        moved = (
            f"{top}{part}" if part.startswith("/") and f"/{part.split('/')[1]}" in _PLACES else part
            for part in parts
        )
        return ":".join(moved)

    def moved(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(replace(step, words=tuple(map(there, step.words))) for step in steps)

    return replace(
        setup,
        steps=moved(setup.steps),
        before=moved(setup.before),
        checks=tuple(replace(check, path=there(check.path)) for check in setup.checks),
    )
