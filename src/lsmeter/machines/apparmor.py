# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor's profiles for a machine as it runs: compiled by its own apparmor_parser."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lsmeter.base import process
from lsmeter.base.errors import InfrastructureError
from lsmeter.base.storage import write_atomic
from lsmeter.machines.journal import Change, root
from lsmeter.model import Setup

PARSER = "apparmor_parser"
_CONTROL = "sys/kernel/security/apparmor"


def control() -> Path:
    """Return the directory through which profiles are loaded and removed."""
    return root() / _CONTROL


def loading(setup: Setup, folder: Path) -> list[Change]:
    """Return the changes that load the setup's profiles, which are written into `folder`."""
    changes = []
    for name, text in setup.profiles:
        file = folder / f"{name}.profile"
        write_atomic(file, compiled(text))
        title = f"AppArmor's profile {name}"
        changes.append(Change(str(control()), "", str(file), title, profile=name))
    return changes


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
