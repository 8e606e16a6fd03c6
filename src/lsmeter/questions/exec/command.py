# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter exec`: run any command once in counted guests, and say what the kernel does for it."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.options import (
    BootsOption,
    MarginOption,
    Options,
    argument,
    but,
    declared,
    make_experiment,
)
from lsmeter.core.errors import UsageError

if TYPE_CHECKING:
    from lsmeter.core.model.arch import Arch
    from lsmeter.core.model.commands import Command
    from lsmeter.measure.experiment.exec import CommandExperiment
    from lsmeter.sources.commands.tree import Entry, Tree

_SETUPS = ("selinux", "apparmor")
_MOST_INPUT_BYTES = 64 << 20
_NAME = re.compile(r"[^a-z0-9_-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", re.DOTALL)
_MEMORY_MIB, _MOST_MEMORY_MIB = 256, 2560  # QEMU's hole is at 3 GiB, an image takes some


@dataclass(frozen=True)
class ExecOptions(Options):
    """The options of `lsmeter exec`."""

    with_: Annotated[list[str] | None, declared("exec.with_")] = None
    root: Annotated[Path | None, declared("exec.root")] = None
    directory: Annotated[str | None, declared("exec.directory")] = None
    env: Annotated[list[str] | None, declared("exec.env")] = None
    input: Annotated[str | None, declared("exec.input")] = None
    expect_status: Annotated[int, declared("exec.expect_status")] = 0
    deadline: Annotated[int, declared("exec.deadline")] = 40
    baseline: Annotated[str | None, declared("run.baseline")] = None
    boots: BootsOption = None
    margin: MarginOption = None
    attribute: Annotated[bool, declared("exec.attribute")] = False


def exec_(
    options: Annotated[ExecOptions, but("suite", "benchmark", "user", setup="selinux, apparmor")],
    words: Annotated[list[str], argument("COMMAND", "What is run, with its arguments.")],
) -> int:
    """Measure what security setups cost any program, run once.

    The command runs once in each guest, as root, and every instruction is counted: its own, which
    no setup should change, and the kernel's, by module, system call and hook. Its interpreter and
    shared libraries are found by their headers and packed; --with adds what it opens besides.
    Nothing of it is run on this machine. Its environment is empty but for --env.

    A command that fails gives no number. One that never ends is a workload: lsmeter help workloads.

        lsmeter exec --with /usr/share/doc -- ls -lR /usr/share/doc
        lsmeter exec -s selinux --with . -- git status
        lsmeter exec -s landlock --env LC_ALL=C --input words -- sort
        lsmeter exec --root rootfs.tar --boots 5 -- /usr/bin/make -C /src
    """
    from lsmeter.cli.measure import measure, showing
    from lsmeter.cli.show import show_run

    experiment = experiment_of(options, words)
    where, code = measure([experiment], f"exec-{experiment.command.name}", options)
    with showing(code):
        show_run(where, None, everything=options.attribute)
    return int(code)


def experiment_of(options: ExecOptions, words: list[str]) -> CommandExperiment:
    """Pack a command, and return the experiment that runs it; UsageError for what cannot run."""
    from lsmeter.catalogue.setups import for_command
    from lsmeter.measure.experiment.exec import CommandExperiment
    from lsmeter.measure.tasks.exec import TASK

    command, size_bytes = _packed(options, words)
    made = options.keys(
        task=TASK.name,
        suites=["exec"],
        title=f"What security modules cost: {command.shown}"[:200],
    )
    made["setups"] = [for_command(word) for word in made.get("setups", _SETUPS)]
    # The initramfs, what the kernel unpacks of it, and the copy that the command works on.
    memory_mib = min(_MEMORY_MIB + 4 * (size_bytes >> 20), _MOST_MEMORY_MIB)
    made["conditions"] = {
        "icount_shift": TASK.icount_shift,
        "memory_mib": memory_mib,
        **(made.get("conditions") or {}),
    }
    baseline = options.baseline and for_command(options.baseline)
    named = {"baseline": baseline, "boots": options.boots, "margin": options.margin}
    made |= {key: value for key, value in named.items() if value is not None}
    found = make_experiment(made)
    return CommandExperiment.model_construct(found.model_fields_set, **vars(found), command=command)


def _arch(options: ExecOptions) -> Arch:
    """Return the one architecture that a command is for."""
    from lsmeter.core.model.arch import arch_of_host, find_arch

    names = options.arch or [arch_of_host().name]
    if len(names) > 1:
        raise UsageError("--arch: a command is for one architecture")
    return find_arch(names[0], where="--arch")


def _packed(options: ExecOptions, words: list[str]) -> tuple[Command, int]:
    """Pack a command with all that it needs; return it, and the size of its tree in bytes."""
    from lsmeter.core.model.commands import Command
    from lsmeter.core.printable import printable
    from lsmeter.core.storage import write_atomic
    from lsmeter.guest.initramfs import tree_archive
    from lsmeter.sources.commands import tree_path
    from lsmeter.sources.commands.collect import Collector, find, make_tree

    for item in options.env or ():
        if not _VARIABLE.fullmatch(item):
            raise UsageError(f"--env {printable(item)[:60]}: not NAME=VALUE")
    for item in (*words, *(options.env or ())):
        if os.fsencode(item) != item.encode(errors="replace"):
            raise UsageError(f"{printable(item)[:60]}: not UTF-8", hint="call the file otherwise")
    if options.root and options.with_:
        raise UsageError("--with: a --root has all of its files", hint="put them there")
    if not 0 <= options.expect_status <= 255 or not 1 <= options.deadline <= 3600:
        raise UsageError("--expect-status is 0 to 255, --deadline 1 to 3600 s")
    here = "/" if options.root else str(Path.cwd())
    directory = posixpath.normpath(posixpath.join(here, options.directory or ""))
    tree = make_tree(options.root)
    collector = Collector(tree, _arch(options))
    own = dict(item.partition("=")[::2] for item in options.env or ())
    of = own.get("PATH") or os.environ.get("PATH", "")
    path = find(tree, words[0], of, directory if options.root else here)
    collector.add_program(path)
    for item in options.with_ or ():
        collector.add_path(posixpath.normpath(posixpath.join(here, item)))
    known = directory in (*tree.entries, "/") if tree.closed else Path(directory).is_dir()
    if options.directory and not known:
        raise UsageError(f"--directory {printable(options.directory)[:80]}: no such directory")
    tree.make_directory(directory)
    archive = tree_archive(_members(tree, _input(options.input)))
    sha256 = hashlib.sha256(archive).hexdigest()
    if not tree_path(sha256).exists():
        write_atomic(tree_path(sha256), archive)
    name = _NAME.sub("-", posixpath.basename(words[0]).lower()).strip("-_")[:30]
    command = Command(
        name=name if name[:1].isalpha() else f"command-{name}"[:30].rstrip("-"),
        words=(path, *words[1:]),
        shown=printable(shlex.join(words))[:150],
        tree=sha256,
        directory=directory,
        environment=tuple(options.env or ()),
        status=options.expect_status,
        deadline_s=options.deadline,
    )
    return command, len(archive)


def _members(tree: Tree, data: bytes) -> dict[str, Entry]:
    """Return what the guest finds in /setup: the tree, and what the command reads."""
    import stat

    from lsmeter.sources.commands.tree import Entry

    top = Entry(stat.S_IFDIR | 0o755)
    found = {f"setup/tree{path}": entry for path, entry in sorted(tree.entries.items())}
    read = Entry(stat.S_IFREG | 0o644, data)
    return {"setup": top, "setup/tree": top, **found, "setup/input": read}


def _input(name: str | None) -> bytes:
    from lsmeter.core.inputs import read_file
    from lsmeter.core.storage import reading

    if name is None:
        return b""
    if name != "-":
        with reading(name):
            return read_file(Path(name), _MOST_INPUT_BYTES, "input", where="--input")
    data: bytes = sys.stdin.buffer.read(_MOST_INPUT_BYTES + 1)
    if len(data) > _MOST_INPUT_BYTES:
        raise UsageError(f"--input -: more than {_MOST_INPUT_BYTES >> 20} MiB")
    return data
