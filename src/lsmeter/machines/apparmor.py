# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor's profiles for a machine as it runs: compiled by its own apparmor_parser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import Setup
from lsmeter.core.storage import write_atomic
from lsmeter.machines.journal import Change, changed, root

PARSER = "apparmor_parser"
_CONTROL = "sys/kernel/security/apparmor"


def control() -> Path:
    """Return the directory through which profiles are loaded and removed."""
    return root() / _CONTROL


@dataclass
class _Loaded:
    """A profile that the kernel has, and how many blocks or turns of this process are under it."""

    change: AbstractContextManager[object]
    users: int = 0


_loaded: dict[str, _Loaded] = {}


@contextmanager
def loaded(setup: Setup, folder: Path) -> Iterator[None]:
    """Load the setup's profiles for the length of the block; they are written into `folder`."""
    with ExitStack() as stack:
        for name, text in setup.profiles:
            stack.enter_context(_one_loaded(name, text, folder))
        yield


@contextmanager
def _one_loaded(name: str, text: str, folder: Path) -> Iterator[None]:
    """Load a profile once; it goes with the last that is under it."""
    if name not in _loaded:
        file = folder / f"{name}.profile"
        write_atomic(file, compiled(text))
        change = Change(str(control()), "", str(file), f"AppArmor's profile {name}", profile=name)
        found = _Loaded(changed([change]))
        found.change.__enter__()
        _loaded[name] = found
    _loaded[name].users += 1
    try:
        yield
    finally:
        found = _loaded[name]
        found.users -= 1
        if not found.users:
            del _loaded[name]
            found.change.__exit__(None, None, None)


@cache
def compiled(text: str) -> bytes:
    """Compile a profile for this kernel, as the machine's own profiles are."""
    process.need([PARSER], "it compiles the setup's profile")
    words = (PARSER, "--quiet", "--skip-cache", "--stdout")
    done = process.run_bytes(words, stdin=text.encode(), env=process.environment())
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise InfrastructureError(f"{PARSER} failed: {''.join(said)[:200] or 'it gave nothing'}")
    return done.stdout
