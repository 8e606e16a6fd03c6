# SPDX-License-Identifier: GPL-2.0-or-later
"""Further files that are made of a kernel's source once the kernel is built.

mdp-policy: SELinux's minimal policy. The kernel's own program (scripts/selinux/mdp) writes one
type that may do everything to itself, so it refuses nothing; one more type is added here, whose
files may be labelled and looked at, but neither opened nor read: without it no guest could show
that the policy is enforced.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lsmeter.kernels.build.make import Slot

MDP_POLICY = "mdp-policy"
COMPILER = "checkpolicy"
# The newest version that libsepol 3.1 wrote, and that every kernel since 5.1 reads.
_DEFAULT_VERSION = 31
_TIMEOUT_S = 60

_BEFORE = re.compile(r"^user ", re.MULTILINE)
_ADDED = """\
type lsmeter_secret_t;
allow base_t lsmeter_secret_t:file { getattr relabelfrom relabelto unlink };
allow lsmeter_secret_t base_t:filesystem associate;
"""
_VERSIONS = re.compile(r"^#define\s+(POLICYDB_VERSION_\w+)\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Made:
    """The files that were made, by name, and why each that was not is not there."""

    files: Mapping[str, Path]
    without: tuple[tuple[str, str], ...] = ()


def make_artifacts(slot: Slot, config: Mapping[str, str]) -> Made:
    """Make what belongs to the kernel that was built in `slot`.

    What cannot be made is no failure of the build: the reason comes back.
    """
    if not wanted(config):
        return Made({})
    policy, why = _minimal_policy(slot)
    return Made({}, ((MDP_POLICY, why),)) if policy is None else Made({MDP_POLICY: policy})


def wanted(config: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of what a kernel of this configuration should come with."""
    return (MDP_POLICY,) if config.get("SECURITY_SELINUX") == "y" else ()


def can_make() -> bool:
    """Say whether this machine has what makes them."""
    return shutil.which(COMPILER) is not None


def _minimal_policy(slot: Slot) -> tuple[Path | None, str]:
    """Return the compiled policy, or None and what is in the way."""
    program = slot.objects / "scripts/selinux/mdp/mdp"
    source, contexts = slot.home / "mdp.conf", slot.home / "mdp.contexts"
    if not program.is_file():
        return None, "the kernel's build made no scripts/selinux/mdp"
    if not can_make():
        return None, f"{COMPILER} is not installed (Debian: apt install {COMPILER})"
    said = _run([str(program), "-m", str(source), str(contexts)])
    if said is not None:
        return None, f"scripts/selinux/mdp failed: {said}"
    try:
        source.write_text(with_secret(source.read_text(encoding="ascii")), encoding="ascii")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return None, f"scripts/selinux/mdp wrote what is no policy: {error}"
    policy = slot.home / MDP_POLICY
    version = str(_version(slot.tree))
    words = [COMPILER, "-M", "-U", "allow", "-c", version, "-o", str(policy), str(source)]
    said = _run(words)
    return (policy, "") if said is None else (None, f"{COMPILER} failed: {said}")


def with_secret(text: str) -> str:
    """Return mdp's policy with one more type, whose files nothing may open; pure."""
    at = _BEFORE.search(text)
    if at is None or "type base_t;" not in text:
        raise ValueError("it has no type base_t or no user")
    return text[: at.start()] + _ADDED + text[at.start() :]


def policy_version(header: str) -> int | None:
    """Return the newest policy that a kernel reads, by its security/selinux/include/security.h."""
    found: dict[str, str] = dict(_VERSIONS.findall(header))
    word = found.get("POLICYDB_VERSION_MAX", "")
    number = found.get(word, word)
    return int(number) if number.isdecimal() else None


def _version(tree: Path) -> int:
    """Return the policy version to compile: what both kernel and compiler know."""
    try:
        header = (tree / "security/selinux/include/security.h").read_text(encoding="utf-8")
    except OSError:
        return _DEFAULT_VERSION
    kernel = policy_version(header) or _DEFAULT_VERSION
    said = subprocess.run(
        [COMPILER, "-V"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    ).stdout.split()
    compiler = int(said[0]) if said and said[0].isdecimal() else _DEFAULT_VERSION
    return min(kernel, compiler)


def _run(words: list[str]) -> str | None:
    """Run a program; None when it ended well, else its last words."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_TIMEOUT_S, errors="replace", check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1][:200] if lines else f"status {done.returncode}"
