# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the stages of the analysis in their order: read, find hooks and modules, link, follow."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from lsmeter.errors import InfrastructureError
from lsmeter.hooks.source import cache as stored
from lsmeter.hooks.source.askers import Askers
from lsmeter.hooks.source.barriers import BARRIERS, RARE
from lsmeter.hooks.source.conditions import OPTIONS_OFF
from lsmeter.hooks.source.definitions import DEFINITIONS, OLD_DEFINITIONS, find_hooks
from lsmeter.hooks.source.facts import FileFacts, Function
from lsmeter.hooks.source.files import (
    DEFAULT_FILESYSTEMS,
    Listing,
    list_tree,
    read_ignored,
    read_source,
)
from lsmeter.hooks.source.interfaces import FRAMEWORK, Interfaces
from lsmeter.hooks.source.lines import code_lines, counts
from lsmeter.hooks.source.link import Program
from lsmeter.hooks.source.mediation import judges, mediate
from lsmeter.hooks.source.model import (
    FileSystem,
    Interface,
    Module,
    Scope,
    SourceAnalysis,
    SyscallUse,
)
from lsmeter.hooks.source.modules import find_modules
from lsmeter.hooks.source.reach import Reach
from lsmeter.hooks.source.syntax import read_file
from lsmeter.hooks.source.syscalls import all_syscalls
from lsmeter.progress import SILENT, Progress

PROCESSES = 2
# Below this a second process takes longer to start than it saves.
PARALLEL_FROM_BYTES = 3_000_000
CHUNK_BYTES = 600_000
MAX_UNREAD_SHARE = 0.2  # of a file, above which it is reported


def analyse(
    tree: Path,
    *,
    progress: Progress = SILENT,
    cache: bool = True,
    filesystems: tuple[str, ...] = DEFAULT_FILESYSTEMS,
) -> SourceAnalysis:
    """Analyse the kernel source at `tree`, or take what was found when it was last read.

    Raises UsageError when it is no kernel tree, is damaged, or lacks one of the file systems.
    """
    listing = list_tree(tree, tuple(dict.fromkeys(filesystems)))
    key = stored.key_of(listing)
    found = stored.load(key) if cache else None
    if found is None:
        found = _analyse(listing, progress)
        if cache:
            stored.store(key, found)
    return found


def _analyse(listing: Listing, progress: Progress) -> SourceAnalysis:
    root = listing.root
    paths = {file.path for file in listing.files}
    facts = _read_all(listing, progress)
    definitions = read_source(root, DEFINITIONS) if DEFINITIONS in paths else None
    hooks = find_hooks(definitions, read_source(root, OLD_DEFINITIONS))
    texts = {path: read_source(root, path) for path in sorted(paths) if path.startswith(FRAMEWORK)}
    ignored = read_ignored(root, {path.rpartition("/")[0] for path in texts})
    modules = find_modules(texts, hooks, ignored)
    program = Program(facts, dict(listing.owners))
    functions: dict[str, list[Function]] = {}
    for function in program.functions:
        functions.setdefault(function.name, []).append(function)
    interfaces = Interfaces(hooks, modules, functions)
    followed = _follow(program, listing, interfaces, modules, progress)
    uses, systems, met, unresolved = followed
    lines = {
        path: code_lines(text)
        for path, text in texts.items()
        if counts(path, ignored.get(path.rpartition("/")[0], frozenset()))
    }
    return SourceAnalysis(
        tree=str(root.resolve()),
        kernel_version=listing.version,
        hooks=hooks,
        modules=modules,
        framework_code_lines=_framework_lines(lines, modules),
        security_code_lines=sum(lines.values()),
        interfaces=met,
        filesystems=systems,
        syscalls=uses,
        mediations=mediate(uses),
        scope=_scope(listing, facts, unresolved),
        notes=_notes(),
        problems=(*listing.problems, *_problems(facts, listing, uses, modules)),
    )


def _follow(
    program: Program,
    listing: Listing,
    interfaces: Interfaces,
    modules: tuple[Module, ...],
    progress: Progress,
) -> tuple[tuple[SyscallUse, ...], tuple[FileSystem, ...], tuple[Interface, ...], int]:
    """Follow all system calls on all file systems."""
    uses: list[SyscallUse] = []
    systems: list[FileSystem] = []
    met: dict[str, Interface] = {}
    unresolved = 0
    askers = Askers(program, modules)
    for done, (name, _) in enumerate(listing.owners):
        progress.update("following calls", done, len(listing.owners), unit="file systems")
        reach = Reach(program, name, interfaces, askers, judges(modules))
        found, system = reach.run(all_syscalls())
        uses += found
        systems.append(system)
        met.update({one.name: one for one in reach.found.values()})
        unresolved = max(unresolved, reach.unresolved)
    progress.finish("following calls")
    return tuple(uses), tuple(systems), tuple(met[name] for name in sorted(met)), unresolved


def _read_all(listing: Listing, progress: Progress) -> list[FileFacts]:
    """Parse every file, on two processes when there is enough to do."""
    total = sum(file.size_bytes for file in listing.files)
    chunks = _chunks(listing)
    read = partial(_read_chunk, listing.root)
    if total < PARALLEL_FROM_BYTES:
        return _collect(map(read, (paths for _, paths in chunks)), chunks, total, progress)
    # "spawn": a thread of the caller (a progress display) may hold a lock while we fork
    context = multiprocessing.get_context("spawn")
    # without the collector of cycles: it looks through all facts again and again, and finds none
    pool: Executor = ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=gc.disable)
    with pool:
        try:
            results = pool.map(read, [paths for _, paths in chunks])
            return _collect(results, chunks, total, progress)
        except BrokenProcessPool as error:
            raise InfrastructureError(
                f"a process that reads the tree ended early: {error}",
                hint="is there enough memory? about 1 GB is needed",
            ) from error


def _collect(
    results: Iterable[list[FileFacts]],
    chunks: list[tuple[int, tuple[str, ...]]],
    total: int,
    progress: Progress,
) -> list[FileFacts]:
    facts: list[FileFacts] = []
    done = 0
    for (size, _), found in zip(chunks, results, strict=True):
        facts += found
        done += size
        progress.update("reading the tree", done, total, unit="B")
    progress.finish("reading the tree")
    return facts


def _read_chunk(root: Path, paths: tuple[str, ...]) -> list[FileFacts]:
    return [read_file(path, read_source(root, path)) for path in paths]


def _chunks(listing: Listing) -> list[tuple[int, tuple[str, ...]]]:
    """Divide the files into pieces of about the same size: (bytes, paths)."""
    chunks: list[tuple[int, tuple[str, ...]]] = []
    paths: list[str] = []
    size = 0
    for file in listing.files:
        paths.append(file.path)
        size += file.size_bytes
        if size >= CHUNK_BYTES:
            chunks.append((size, tuple(paths)))
            paths, size = [], 0
    if paths:
        chunks.append((size, tuple(paths)))
    return chunks


def _framework_lines(lines: dict[str, int], modules: tuple[Module, ...]) -> int:
    """Sum up the files right in security/ that are no module."""
    single = {module.directory for module in modules}
    return sum(
        count for path, count in lines.items() if path.count("/") == 1 and path not in single
    )


def _scope(listing: Listing, facts: list[FileFacts], unresolved: int) -> Scope:
    return Scope(
        files=len(listing.files),
        size_bytes=sum(file.size_bytes for file in listing.files),
        functions=sum(1 for file in facts for one in file.functions if not one.macro),
        conditional_regions=sum(file.conditional_regions for file in facts),
        lines_of_other_branches=sum(file.dropped_lines for file in facts),
        unresolved_pointer_calls=unresolved,
    )


def _problems(
    facts: list[FileFacts],
    listing: Listing,
    uses: tuple[SyscallUse, ...],
    modules: tuple[Module, ...],
) -> list[str]:
    """Say what could not be read or found; a result that lacks something says so."""
    sizes = {file.path: file.size_bytes for file in listing.files}
    problems = [
        f"{file.path}: the parser could not read {file.unread_bytes} of {sizes[file.path]} bytes"
        for file in facts
        if file.path.endswith(".c") and file.unread_bytes > MAX_UNREAD_SHARE * sizes[file.path]
    ]
    known = {use.syscall for use in uses}
    missing = [name for name in all_syscalls() if name not in known]
    if missing:
        problems.append(f"system calls that this kernel does not have: {', '.join(missing)}")
    empty = [module.name for module in modules if not module.hooks]
    if empty:
        problems.append(f"modules without a hook: {', '.join(empty)}")
    return problems


def _notes() -> tuple[str, ...]:
    off = ", ".join(sorted(name for name in OPTIONS_OFF if name.startswith("CONFIG_")))
    return (
        (
            "A kernel with every option on is read: the first branch of #ifdef CONFIG_X, but not"
            f" that of {off}. Calls under a condition name it."
        ),
        (
            "Counts are upper bounds over all flags and states of the files: of two branches the"
            " dearer one, d for each component of the path."
        ),
        "Not entered: " + "; ".join(reason for _, reason in BARRIERS) + ".",
        "Among the most, but not ordinary: " + "; ".join(reason for _, reason in RARE) + ".",
        (
            "Code outside fs/ (core and the named file systems), mm/, kernel/, security/ and"
            " include/linux/ is not followed; of modules, only IMA and EVM are, which ask others."
        ),
    )
