# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a kernel tree, and runs the stages of the analysis or takes what an earlier run found.

A tree is untrusted: which files, how large at most, and nothing outside it. Only this module
touches it; the stages work on text. What was found is kept for as long as no file that was read
has changed: its size, its time of modification, or its inode's time of change, which no program
can set back.
"""

from __future__ import annotations

import errno
import gc
import hashlib
import multiprocessing
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from lsmeter.core import storage
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model.arch import find_arch
from lsmeter.core.progress import SILENT, Progress
from lsmeter.core.registry import nearest
from lsmeter.questions.hooks.source import framework
from lsmeter.questions.hooks.source.config import EVERYTHING, Config, compiled, left_out
from lsmeter.questions.hooks.source.model import FileFacts, Module, SourceAnalysis
from lsmeter.questions.hooks.source.program import FRAMEWORK, Program
from lsmeter.questions.hooks.source.reach import Reach
from lsmeter.questions.hooks.source.rules import NOTES, SYSCALLS, TREE, calls_of
from lsmeter.questions.hooks.source.syntax import read_file

MAX_FILE_BYTES = 4 * 1024 * 1024  # ten times the largest C file of a kernel's VFS
MAX_FILES = 20_000
MAX_DIRECTORY_DEPTH = 8  # below the folders named here

DEFAULT_FILESYSTEMS = ("tmpfs", "ext2", "ext4", "xfs")

# A kernel without a memory management unit runs none of these modules' policies.
NO_MMU = re.compile(r"(^|[/_-])nommu")
_VERSION = r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$"

PROCESSES = 2
# Below this a second process takes longer to start than it saves.
PARALLEL_FROM_BYTES = 3_000_000
FILES_AT_ONCE = 40
MAX_UNREAD_SHARE = 0.2  # of a file, above which it is reported
MAX_STORED_BYTES = 256 * 1024 * 1024
# A module that labels inodes has the first; one that judges paths has the others. IMA and IPE,
# which measure or verify some files, have none of them and are not asked to mediate all.
FILE_JUDGES = frozenset({"inode_permission", "path_mkdir", "path_unlink"})
_STORED = TypeAdapter(SourceAnalysis)


@dataclass
class _Listing:
    """The files of a tree that the analysis reads, and those that each file system owns."""

    root: Path
    version: str
    config: Config = EVERYTHING
    calls: tuple[str, ...] = SYSCALLS
    files: dict[str, os.stat_result] = field(default_factory=dict)
    owners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


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
    listing = _list_tree(tree, tuple(dict.fromkeys(filesystems)), config)
    path = storage.cache_dir() / "hooks-source" / f"{_key_of(listing)}.json.z"
    found = _load(path) if cache else None
    if found is None:
        found = _analyse(listing, progress)
        if cache:
            storage.write_atomic(path, zlib.compress(_STORED.dump_json(found), 3))
    return found


def _key_of(listing: _Listing) -> str:
    files = [
        (name, file.st_size, file.st_mtime_ns, file.st_ctime_ns)
        for name, file in listing.files.items()
    ]
    of = (listing.config, listing.version, listing.calls, [*listing.owners], listing.problems)
    digest = hashlib.sha256(repr((listing.root.resolve(), of, files)).encode())
    for path in sorted(Path(__file__).parent.glob("*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _load(path: Path) -> SourceAnalysis | None:
    """Return the stored analysis, None when there is none or it is damaged."""
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(path.read_bytes(), MAX_STORED_BYTES)
        return None if reader.unconsumed_tail else _STORED.validate_json(data)
    except (OSError, zlib.error, ValidationError):
        return None


def _analyse(listing: _Listing, progress: Progress) -> SourceAnalysis:
    root, config = listing.root, listing.config
    facts = _read_all(listing, progress)
    definitions = (framework.DEFINITIONS, framework.OLD_DEFINITIONS)
    wanted = (path for path in listing.files if path.startswith((FRAMEWORK, *definitions)))
    texts = {path: compiled(_read_source(root, path), config) for path in wanted}
    hooks = framework.find_hooks(*(texts.pop(path, "") for path in definitions))
    folders = {path.rpartition("/")[0] for path in texts}
    ignored = frozenset(path for folder in folders for path in _ignored_files(root, folder))
    lines = framework.all_code_lines(texts, ignored)
    modules = framework.find_modules(texts, hooks, lines)
    program = Program(facts, listing.owners, modules, listing.calls)
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
    compiled_only = f"Only what {config.origin} compiles is read."
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
        notes=NOTES if config.options is None else (compiled_only, *NOTES[1:]),
        problems=tuple(_problems(listing, facts, {use.syscall for use in uses}, modules)),
    )


def _read_all(listing: _Listing, progress: Progress) -> list[FileFacts]:
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
    return read_file(path, _read_source(root, path), config)


def _problems(
    listing: _Listing, facts: Iterable[FileFacts], known: set[str], modules: Iterable[Module]
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
    if config.arch and (others := sorted(set(SYSCALLS) - set(listing.calls))):
        yield f"system calls that {config.arch} does not have: {', '.join(others)}"
    if missing := sorted(set(listing.calls) - known):
        yield f"system calls that this kernel does not have: {', '.join(missing)}"
    if empty := [module.name for module in modules if not module.hooks]:
        yield f"modules without a hook: {', '.join(empty)}"


def _list_tree(root: Path, filesystems: tuple[str, ...], config: Config = EVERYTHING) -> _Listing:
    """List what is to be read below `root`: what `config` compiles, and headers.

    Raises UsageError when it is no kernel tree, is too old or damaged, or lacks a file system.
    """
    listing = _Listing(root, _kernel_version(root), config, _calls(root, config))
    _list(listing, TREE["folders"], deep=False)
    _list(listing, TREE["deep"], TREE["files"])
    for name in filesystems:
        listing.owners[name] = _own_files(listing, name)
    if len(listing.files) > MAX_FILES:
        raise UsageError(
            f"{root}: {len(listing.files)} files to read, more than {MAX_FILES}: no kernel tree",
            hint="name the top folder of one kernel's source",
        )
    listing.files = dict(sorted(listing.files.items()))
    if config.options is not None:
        _drop_left_out(listing)
    return listing


def _calls(root: Path, config: Config) -> tuple[str, ...]:
    """Return the system calls of the configuration's architecture; UsageError without a table."""
    if not config.arch:
        return SYSCALLS
    arch = find_arch(config.arch, where="--arch")
    for path in arch.call_tables:
        if found := calls_of(arch, path, _read_optional(root, path)):
            return found
    raise UsageError(
        f"{root} has no table of the system calls of {arch.name}: {' or '.join(arch.call_tables)}",
        hint="unpack the whole source, or leave --arch out",
    )


def _drop_left_out(listing: _Listing) -> None:
    """Drop the files that the configuration does not compile, and file systems without any."""
    inside = {
        path: [f"{one}/" for one in PurePosixPath(path).parents[:-1]] for path in listing.files
    }
    makefiles = {
        folder.rstrip("/"): text
        for folder in sorted(set().union(*inside.values()))
        for name in ("Makefile", "Kbuild")
        if (text := _read_optional(listing.root, f"{folder}{name}"))
    }
    left = left_out(makefiles, listing.config)
    listing.files = {
        path: file
        for path, file in listing.files.items()
        if not left & {re.sub(r"\.c$", ".o", path), *inside[path]}
    }
    for name, paths in tuple(listing.owners.items()):
        listing.owners[name] = tuple(path for path in paths if path in listing.files)
        if not any(path.endswith(".c") for path in listing.owners[name]):
            del listing.owners[name]
            listing.problems.append(f"{name} is not analysed: {listing.config.origin} has it off")


def _read_source(root: Path, path: str) -> str:
    """Return the text of one listed file; bytes that are no UTF-8 become replacement marks.

    Raises UsageError when it vanished or became larger than MAX_FILE_BYTES since the listing.
    """
    try:
        # A link or a pipe that has taken the file's place is neither followed nor waited for.
        number = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(number, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        problem = os.strerror(errno.EFBIG) if len(data) > MAX_FILE_BYTES else None
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise UsageError(
            f"cannot read {root / path}: {problem}",
            hint="the tree changed while it was read, or it is not readable; try again",
        )
    return data.decode("utf-8", errors="replace")


def _read_optional(root: Path, path: str) -> str:
    """Return the text of a file that may be missing, behind a link or too large: then ""."""
    file = root / path
    plain = file.is_file() and not _behind_link(root, path)
    return _read_source(root, path) if plain and file.stat().st_size <= MAX_FILE_BYTES else ""


def _behind_link(root: Path, path: str) -> bool:
    """Tell whether a path is or leads through a link: what is behind it is not of this tree."""
    inside = PurePosixPath(path)
    return any((root / one).is_symlink() for one in (inside, *inside.parents[:-1]))


def _ignored_files(root: Path, folder: str) -> Iterator[str]:
    """Yield the files that the .gitignore of a folder names plainly: a build makes them."""
    lines = _read_optional(root, f"{folder}/.gitignore").splitlines()
    return (f"{folder}/{line.strip().lstrip('/')}" for line in lines)


def _kernel_version(root: Path) -> str:
    if not root.is_dir():
        raise UsageError(f"{root} is no directory", hint="name the top folder of a kernel source")
    found = re.findall(_VERSION, _read_optional(root, "Makefile"), re.MULTILINE)
    values: dict[str, str] = dict(found)
    version = [values.get(name, "") for name in ("VERSION", "PATCHLEVEL")]
    if not all(map(str.isdigit, version)):
        raise UsageError(
            f"{root} is no kernel tree: its Makefile has no VERSION and PATCHLEVEL",
            hint="name the top folder of a kernel source, for example linux-6.12",
        )
    for needed in ("security/security.c", "include/linux/lsm_hooks.h", "fs/namei.c"):
        if _behind_link(root, needed) or not (root / needed).is_file():
            raise UsageError(
                f"{root} is damaged or not whole: {needed} is missing, or behind a link",
                hint="unpack the whole source again (git: git checkout .); no link is followed",
            )
    return ".".join((*version, values.get("SUBLEVEL") or "0")) + values.get("EXTRAVERSION", "")


def _own_files(listing: _Listing, name: str) -> tuple[str, ...]:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise UsageError(
            f"--filesystem: {name!r} is no name of a file system", hint="for example ext4 or btrfs"
        )
    folders = TREE["filesystem_folders"].get(name, (f"fs/{name}",))
    own = _list(listing, folders, TREE["filesystem_files"].get(name, ()))
    if not any(path.endswith(".c") for path in own):
        fs = listing.root / "fs"
        known = sorted(entry.name for entry in fs.iterdir() if (entry / "Kconfig").is_file())
        raise UsageError(
            f"{listing.root} has no source of the file system '{name}'{nearest(name, known)}",
            hint=f"it has tmpfs and {', '.join(known)}" if known else "this tree has none",
        )
    return tuple(sorted(own))


def _list(
    listing: _Listing, folders: Iterable[str], files: Iterable[str] = (), *, deep: bool = True
) -> set[str]:
    """Add files, and the .c and .h files of folders; no links, so none can loop or lead out."""
    root, paths = listing.root, list(files)
    for folder in folders:  # older and newer kernels lack some of them
        if _behind_link(root, folder):
            listing.problems.append(f"{folder}: behind a link, not read")
            continue
        for here, inner, names in os.walk(root / folder):
            inside = Path(here).relative_to(root).as_posix()
            links = [one for one in inner if deep and (root / inside / one).is_symlink()]
            listing.problems.extend(f"{inside}/{one}: a link, not read" for one in links)
            if not deep or inside.count("/") - folder.count("/") >= MAX_DIRECTORY_DEPTH:
                too_deep = (f"{inside}/{one}: nested too deep, not read" for one in inner if deep)
                listing.problems.extend(too_deep)
                inner.clear()
            paths += (f"{inside}/{name}" for name in names if name.endswith((".c", ".h")))
    for path in (path for path in paths if not NO_MMU.search(path)):
        try:
            facts = (root / path).lstat()
        except OSError:
            continue
        if not stat.S_ISREG(facts.st_mode) or _behind_link(root, path):
            listing.problems.append(f"{path}: no regular file (a link or device), not read")
        elif facts.st_size > MAX_FILE_BYTES:
            size = f"{facts.st_size} bytes, more than {MAX_FILE_BYTES}"
            listing.problems.append(f"{path}: {size}, not read")
        else:
            listing.files[path] = facts
    return {path for path in paths if path in listing.files}
