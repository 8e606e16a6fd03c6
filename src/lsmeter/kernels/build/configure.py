# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets kconfig make a kernel's configuration, and checks that it is what was asked for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsmeter.errors import BuildError
from lsmeter.kernels.build import fragment, kconfig
from lsmeter.kernels.build.make import Slot, run_make
from lsmeter.progress import Progress
from lsmeter.storage import write_atomic

# What kconfig read for the last configuration, by its own account.
_READ = re.compile(r"^deps_config := \\\n((?:\t\S+(?: \\)?\n)+)$", re.MULTILINE)


def configure(
    assignments: Sequence[fragment.Assignment],
    slot: Slot,
    *,
    jobs: int,
    task: str,
    progress: Progress,
) -> Mapping[str, str]:
    """Make the slot's .config of `assignments` and return it; raise BuildError if one is dropped.

    Nothing runs when the slot was last built from the same words, Kconfig files and .config: a
    .config that is written again, be it the same, costs make seconds of work.
    """
    wanted = slot.home / "wanted.config"
    text = fragment.config_text(assignments).encode()
    if not _is_current(slot, text):
        _stamp(slot).unlink(missing_ok=True)
        write_atomic(wanted, text)
        run_make(
            slot,
            ["allnoconfig"],
            jobs=jobs,
            task=task,
            expected=None,
            progress=progress,
            extra={"KCONFIG_ALLCONFIG": str(wanted)},
        )
    config = fragment.parse_config((slot.objects / ".config").read_text(encoding="utf-8"))
    check_config(assignments, config, tree_reader(slot.tree))
    return config


def remember(assignments: Sequence[fragment.Assignment], slot: Slot) -> None:
    """Note what the slot's configuration was made of.

    To be called once it has been built, from a source that did not change meanwhile: the files
    are read now, and a newer Kconfig would pass for the one that .config was made of. A note that
    is there still holds.
    """
    if _stamp(slot).exists():
        return
    text = fragment.config_text(assignments).encode()
    write_atomic(_stamp(slot), _digest(slot, text).encode())


def _is_current(slot: Slot, text: bytes) -> bool:
    try:
        return _stamp(slot).read_text(encoding="ascii") == _digest(slot, text) != ""
    except (OSError, UnicodeDecodeError):
        return False


def _stamp(slot: Slot) -> Path:
    return slot.home / "configured"


def _digest(slot: Slot, text: bytes) -> str:
    """Hash all that the configuration depends on, and itself; "" when that is not known."""
    try:
        listed = (slot.objects / "include/config/auto.conf.cmd").read_text(encoding="utf-8")
        found = _READ.search(listed)
        if found is None:
            return ""
        digest = hashlib.sha256(text)
        digest.update((slot.objects / ".config").read_bytes())
        for word in found[1].split():
            if word != "\\":
                content = (slot.tree / word).read_bytes()
                digest.update(f"\n{word} {len(content)}\n".encode() + content)
    except (OSError, UnicodeDecodeError):
        return ""
    return digest.hexdigest()


def tree_reader(tree: Path) -> kconfig.Reader:
    """Return a reader of the files of a kernel's tree: None for one that is not there."""

    def read(path: str) -> str | None:
        try:
            return (tree / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    return read


def check_config(
    assignments: Sequence[fragment.Assignment], config: Mapping[str, str], read: kconfig.Reader
) -> None:
    """Raise BuildError that names each option that kconfig dropped, who wanted it, and why.

    read gives files of the kernel's tree. An optional one that this kernel does not know is none.
    """
    lost = fragment.dropped(assignments, config)
    if not lost:
        return
    tree = kconfig.read_kconfig(read)
    lines = [
        f"{item.text} ({item.fragment}, line {item.line}): "
        f"{kconfig.reason(tree, config, item.option, item.value)}"
        for item in lost
        if not (item.optional and not kconfig.known(tree, item.option))
    ]
    if not lines:
        return
    more = f", and {len(lines) - 1} more" if len(lines) > 1 else ""
    raise BuildError(
        f"this kernel cannot be configured as asked: {lines[0]}{more}",
        hint="add what it depends on in a fragment of your own (--config FILE.config), "
        "or use a kernel that has it",
        log_tail=tuple(lines[1:]),
    )
