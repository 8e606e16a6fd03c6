# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the stages of the analysis in their order, or takes what an earlier run of them found.

What was found is kept for as long as no file that was read has changed: its size, its time of
modification, or its inode's time of change, which no program can set back.
"""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lsmeter.base import storage
from lsmeter.base.errors import InfrastructureError
from lsmeter.base.progress import SILENT, Progress
from lsmeter.hooks.source import framework
from lsmeter.hooks.source.config import EVERYTHING, Config, compiled
from lsmeter.hooks.source.files import (
    DEFAULT_FILESYSTEMS,
    Listing,
    ignored_names,
    list_tree,
    read_source,
)
from lsmeter.hooks.source.model import FileFacts, Module, SourceAnalysis
from lsmeter.hooks.source.program import FRAMEWORK, Program
from lsmeter.hooks.source.reach import Reach
from lsmeter.hooks.source.rules import BARRIER_REASONS, OPTIONS_OFF, RARE_REASONS, SYSCALLS
from lsmeter.hooks.source.syntax import read_file

PROCESSES = 2
# Below this a second process takes longer to start than it saves.
PARALLEL_FROM_BYTES = 3_000_000
FILES_AT_ONCE = 40
MAX_UNREAD_SHARE = 0.2  # of a file, above which it is reported
MAX_STORED_BYTES = 256 * 1024 * 1024
# A module that labels inodes has the first; one that judges paths has the others. IMA and IPE,
# which measure or verify some files, have none of them and are not asked to mediate all.
FILE_JUDGES = frozenset({"inode_permission", "path_mkdir", "path_unlink"})
COUNTS_NOTE = (
    "Counts are upper bounds over all flags and states of the files: of two branches the dearer"
    " one, d for each component of the path. They say nothing of a lower count that was measured."
)
SCOPE_NOTE = (
    "Code outside fs/ (core and the named file systems), mm/, kernel/, security/ and include/linux/"
    " is not followed; of modules, only IMA and EVM are, which ask others."
)
_STORED = TypeAdapter(SourceAnalysis)


def analyse(
    tree: Path,
    *,
    config: Config = EVERYTHING,
    progress: Progress = SILENT,
    cache: bool = True,
    filesystems: tuple[str, ...] = DEFAULT_FILESYSTEMS,
) -> SourceAnalysis:
    """Analyse the kernel source at `tree` as `config` compiles it, or take what is stored.

    Raises UsageError when it is no kernel tree, is damaged, or lacks one of the file systems.
    """
    listing = list_tree(tree, tuple(dict.fromkeys(filesystems)), config)
    path = storage.cache_dir() / "hooks-source" / f"{_key_of(listing)}.json.z"
    found = _load(path) if cache else None
    if found is None:
        found = _analyse(listing, progress)
        if cache:
            storage.write_atomic(path, zlib.compress(_STORED.dump_json(found), 3))
    return found


def _key_of(listing: Listing) -> str:
    digest = hashlib.sha256(f"{listing.root.resolve()} {listing.config}".encode())
    for path in sorted(Path(__file__).parent.glob("*.*")):
        digest.update(path.read_bytes())
    digest.update(f"{list(listing.owners)} {listing.problems}\n".encode())
    for name, file in listing.files.items():
        line = f"{name} {file.st_size} {file.st_mtime_ns} {file.st_ctime_ns}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def _load(path: Path) -> SourceAnalysis | None:
    """Return the stored analysis, None when there is none or it is damaged."""
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(path.read_bytes(), MAX_STORED_BYTES)
        return None if reader.unconsumed_tail else _STORED.validate_json(data)
    except (OSError, zlib.error, ValidationError):
        return None


def _analyse(listing: Listing, progress: Progress) -> SourceAnalysis:
    root, config = listing.root, listing.config
    facts = _read_all(listing, progress)
    definitions = (framework.DEFINITIONS, framework.OLD_DEFINITIONS)
    wanted = (path for path in listing.files if path.startswith((FRAMEWORK, *definitions)))
    texts = {path: compiled(read_source(root, path), config) for path in wanted}
    hooks = framework.find_hooks(*(texts.pop(path, "") for path in definitions))
    folders = {path.rpartition("/")[0] for path in texts}
    lines = framework.all_code_lines(texts, {one: ignored_names(root, one) for one in folders})
    modules = framework.find_modules(texts, hooks, lines)
    program = Program(facts, listing.owners, modules)
    interfaces = framework.find_interfaces(program, hooks, modules)
    followed: dict[str, Reach] = {}
    judges = tuple(
        one.name for one in modules if FILE_JUDGES & {done.hook for done in one.implementations}
    )
    for done, name in enumerate(listing.owners):
        progress.update("following calls", done, len(listing.owners), unit="file systems")
        followed[name] = Reach(program, name, interfaces, judges)
    progress.finish("following calls")
    reached = followed.values()
    met = {one.name: one for reach in reached for one in reach.interfaces.values()}
    uses = tuple(use for reach in reached for use in reach.uses)
    places = {module.directory for module in modules}
    return SourceAnalysis(
        tree=str(root.resolve()),
        kernel_version=listing.version,
        configuration=config.origin,
        hooks=hooks,
        modules=modules,
        framework={
            "hooks": len(hooks),
            "general_hooks": sum(1 for hook in hooks if not hook.condition),
            "code_lines": sum(
                size for path, size in lines.items() if path.count("/") == 1 and path not in places
            ),
            "security_code_lines": sum(lines.values()),
        },
        interfaces=tuple(met[name] for name in sorted(met)),
        edges={name: reach.edges() for name, reach in followed.items()},
        syscalls=uses,
        judges=judges,
        mediation=tuple(one for reach in reached for one in reach.mediations),
        scope={
            "files": len(listing.files),
            "size_bytes": sum(file.st_size for file in listing.files.values()),
            "functions": sum(1 for one in program.functions if not one.macro),
            "lines_of_other_branches": sum(file.dropped_lines for file in facts),
            "unresolved_pointer_calls": max((one.unresolved for one in reached), default=0),
        },
        notes=_notes(config),
        problems=tuple(_problems(listing, facts, {use.syscall for use in uses}, modules)),
    )


def _read_all(listing: Listing, progress: Progress) -> list[FileFacts]:
    read, facts = partial(_read_file, listing.root, listing.config), list[FileFacts]()
    small = sum(file.st_size for file in listing.files.values()) < PARALLEL_FROM_BYTES
    # "spawn": a thread of the caller (a progress display) may hold a lock while we fork
    context = multiprocessing.get_context("spawn")
    # without the collector of cycles: it looks through all facts again and again, and finds none
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=gc.disable) as pool:
        spread = partial(pool.map, chunksize=FILES_AT_ONCE)
        try:
            for one in (map if small else spread)(read, listing.files):
                facts.append(one)
                progress.update("reading the tree", len(facts), len(listing.files), unit="files")
        except BrokenProcessPool as error:
            raise InfrastructureError(
                f"a process that reads the tree ended early: {error}",
                hint="is there enough memory? about 1 GB is needed",
            ) from error
    progress.finish("reading the tree")
    return facts


def _read_file(root: Path, config: Config, path: str) -> FileFacts:
    return read_file(path, read_source(root, path), config)


def _problems(
    listing: Listing, facts: Iterable[FileFacts], known: set[str], modules: Iterable[Module]
) -> Iterator[str]:
    """Say what could not be read or was not found; a result that lacks something says so."""
    config = listing.config
    yield from listing.problems
    if config.series and not listing.version.startswith(f"{config.series}."):
        yield f"{config.origin} configures Linux {config.series}, the source is {listing.version}"
    for file in facts:
        size = listing.files[file.path].st_size
        if file.path.endswith(".c") and file.unread_bytes > MAX_UNREAD_SHARE * size:
            yield f"{file.path}: the parser could not read {file.unread_bytes} of {size} bytes"
    if missing := sorted(set(SYSCALLS) - known):
        yield f"system calls that this kernel does not have: {', '.join(missing)}"
    if empty := [module.name for module in modules if not module.hooks]:
        yield f"modules without a hook: {', '.join(empty)}"


def _notes(config: Config) -> tuple[str, ...]:
    off = ", ".join(sorted(name for name in OPTIONS_OFF if name.startswith("CONFIG_")))
    everything = f"No configuration: every option is taken to be on, but for {off}."
    return (
        f"Only what {config.origin} compiles is read."
        if config.options is not None
        else everything,
        COUNTS_NOTE,
        f"Not entered: {'; '.join(BARRIER_REASONS)}.",
        f"Among the most, but not ordinary: {'; '.join(RARE_REASONS)}.",
        SCOPE_NOTE,
    )
