# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds and runs the programs that build and read images: mmdebstrap and e2fsprogs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsmeter.errors import BuildError, InfrastructureError

# Each program with the package that has it.
BUILDS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "debugfs": "e2fsprogs"}
_ROOTLESS = {"newuidmap": "uidmap", "newgidmap": "uidmap"}
_DEADLINE_S = 600
_TAIL_LINES = 12


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program: in English, administrators' programs found."""
    return {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
        **(extra or {}),
    }


def find(program: str) -> str | None:
    """Return the path of a program, None when it is not installed."""
    return shutil.which(program, path=environment()["PATH"])


def need(packages: Mapping[str, str], what: str) -> None:
    """Raise InfrastructureError that names the packages to install if a program is missing."""
    missing = [program for program in packages if find(program) is None]
    if missing:
        wanted = " ".join(dict.fromkeys(packages[program] for program in missing))
        raise InfrastructureError(
            f"{', '.join(missing)} not found: {what}", hint=f"install: apt-get install {wanted}"
        )


def need_to_build() -> None:
    """Raise InfrastructureError if this machine cannot build an image, with the reason."""
    need(BUILDS, "an image is built with it")
    if os.geteuid() == 0:
        return
    need(_ROOTLESS, "without root, an image is built in a user namespace")
    user = str(os.geteuid())
    for path in (Path("/etc/subuid"), Path("/etc/subgid")):
        if not _has_range(path, user):
            raise InfrastructureError(
                f"cannot build an image without root: {path} has no range for this user",
                hint="usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER "
                "(as root), or build as root",
            )
    done = subprocess.run(
        ["unshare", "--user", "true"], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        raise InfrastructureError(
            f"cannot build an image without root: no user namespaces: {done.stderr.strip()}",
            hint="allow them (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu also "
            "kernel.apparmor_restrict_unprivileged_userns=0), or build as root",
        )


def can_mount_apart() -> bool:
    """Say whether programs can be given mounts of their own, which this machine does not see."""
    try:
        done = subprocess.run(
            ["unshare", "--mount", "true"], capture_output=True, check=False, timeout=60
        )
    except OSError:
        return False
    return done.returncode == 0


def _has_range(path: Path, user: str) -> bool:
    import pwd  # noqa: PLC0415

    try:
        names = {user, pwd.getpwuid(int(user)).pw_name}
    except KeyError:
        names = {user}
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any(line.split(":")[0] in names for line in lines)


def versions() -> dict[str, str]:
    """Return the version of each program that takes part in a build."""
    found = {}
    for program, option in (("mmdebstrap", "--version"), ("mke2fs", "-V"), ("debugfs", "-V")):
        done = _run([program, option])
        match = re.search(r"\d+\.\d[\w.]*", done.stdout + done.stderr)
        found[program] = match[0] if match else "unknown"
    return found


def run(words: Sequence[str], *, stdin: str = "", extra: Mapping[str, str] | None = None) -> str:
    """Run a program to its end; return what it printed, raise BuildError when it fails."""
    done = _run(words, stdin=stdin, extra=extra)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise BuildError(
            f"{words[0]} failed with status {done.returncode}: {said[-1] if said else ''}",
            hint="is the disk full?" if "No space" in done.stderr else "",
            log_tail=tuple(said[-_TAIL_LINES:]),
        )
    return done.stdout + done.stderr


def _run(
    words: Sequence[str], *, stdin: str = "", extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    package = BUILDS.get(words[0], words[0])
    try:
        return subprocess.run(
            words,
            env=environment(extra),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_DEADLINE_S,
        )
    except FileNotFoundError as error:
        raise InfrastructureError(
            f"{words[0]} not found: images need it", hint=f"install: apt-get install {package}"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{words[0]} does not run: {error}") from error
