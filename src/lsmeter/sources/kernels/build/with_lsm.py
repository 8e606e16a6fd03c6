# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds a security module that lives outside the kernel to a copy of the kernel's tree.

The module is a directory with Kconfig, Makefile and C files, as it would stand under security/.
This says which files of the tree must change for it; `make.sync` puts them in place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lsmeter.core.errors import BuildError, UsageError
from lsmeter.sources.kernels.build.fragment import Assignment

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_OPTION = re.compile(r"^(?:menu)?config[ \t]+([A-Z][A-Z0-9_]*)[ \t]*$", re.M)
# Neither hidden ones nor what modpost writes.
_FILES = re.compile(
    r"([^./][^/]*/)*(Kconfig[^/]*|Makefile|Kbuild|(?!.*\.mod\.c$)[^./][^/]*\.(c|h|S|config|inc))"
)
_MAX_FILES = 2_000
_MAX_BYTES = 32 << 20
_HINT = (
    "a module is a directory with Kconfig, Makefile and C files; "
    "see: lsmeter help kernels-from-source"
)

_COUNT_HEADER = "include/linux/lsm_count.h"
_SECURITY_C = "security/security.c"
_COUNT_LIST = re.compile(
    r"(#define[ \t]+MAX_LSM_COUNT[ \t]*\\\n(?:.*\\\n)*?[ \t]*)CAPABILITIES_ENABLED"
)
_CONFIG_COUNT = re.compile(r"#define[ \t]+LSM_CONFIG_COUNT[ \t]*\([ \t]*\\\n")
_COUNTED = re.compile(r"^#if IS_ENABLED\(CONFIG_([A-Z0-9_]+)\)$", re.M)
_ARGS_PLACES = re.compile(r"#define __COUNT_ARGS\(([^)]*)\)")


@dataclass(frozen=True)
class OutOfTreeLsm:
    """A module's directory as it is now; option has no CONFIG_ prefix."""

    name: str
    option: str
    path: Path
    files: tuple[tuple[str, bytes], ...]

    @property
    def identity(self) -> str:
        """Hash the names and contents of its files."""
        digest = hashlib.sha256(self.name.encode())
        for name, content in self.files:
            digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """Say which options build it in."""
        who = f"--with-lsm {self.name}"
        return (Assignment("SECURITY", "y", who, 0), Assignment(self.option, "y", who, 0))


def _wrong(path: Path, what: str, hint: str = _HINT) -> UsageError:
    return UsageError(f"--with-lsm {path}{what}", hint=hint)


def read_lsm(path: Path) -> OutOfTreeLsm:
    """Read the module in the directory `path`; raise UsageError for what is wrong with it."""
    path = path.expanduser().absolute()
    if not path.is_dir():
        raise _wrong(path, " is no directory" if path.exists() else " does not exist")
    if not _NAME.fullmatch(path.name):
        hint = "rename it: lower-case letters, digits, - and _, at most 32"
        raise _wrong(path, f": '{path.name}' cannot be a directory's name under security/", hint)
    for needed in ("Kconfig", "Makefile"):
        if not (path / needed).is_file():
            raise _wrong(path, f": it has no {needed}")
    files = tuple(_files(path))
    if not any(name.endswith(".c") for name, _ in files):
        raise _wrong(path, ": it has no C file")
    option = _OPTION.search(dict(files)["Kconfig"].decode(errors="replace"))
    if option is None:
        hint = "the first 'config NAME' of it is the option that builds the module in"
        raise _wrong(path, ": its Kconfig defines no option", hint)
    return OutOfTreeLsm(path.name, option[1], path, files)


def _files(path: Path) -> Iterable[tuple[str, bytes]]:
    files = {str(file.relative_to(path)): file for file in sorted(path.rglob("*"))}
    wanted = {name: f for name, f in files.items() if _FILES.fullmatch(name) and f.is_file()}
    if len(wanted) > _MAX_FILES:
        raise _wrong(path, f": it has {len(wanted)} files")
    if sum(file.stat().st_size for file in wanted.values()) > _MAX_BYTES:
        raise _wrong(path, f": larger than {_MAX_BYTES >> 20} MiB")
    return ((name, file.read_bytes()) for name, file in wanted.items())


def overlay(lsms: Iterable[OutOfTreeLsm], read: Callable[[str], str | None]) -> dict[str, bytes]:
    """Return the files that adding `lsms` changes; read gives a text of the tree, or None."""
    changed: dict[str, str] = {}
    own: dict[str, bytes] = {}
    for lsm in lsms:
        makefile = f"security/{lsm.name}/Makefile"
        if makefile in own or read(makefile) is not None:
            hint = "rename the directory, and its option if it is the same too"
            raise _wrong(lsm.path, f": the kernel already has security/{lsm.name}", hint)
        own |= {f"security/{lsm.name}/{name}": content for name, content in lsm.files}
        for path, edit in _EDITS.items():
            text = changed.get(path) or read(path)
            if text is not None:
                changed[path] = edit(text, lsm)
    return own | {path: text.encode() for path, text in changed.items()}


def _kconfig(text: str, lsm: OutOfTreeLsm) -> str:
    last = re.compile(r'(.*^source "security/[a-z]+/Kconfig"$)', re.M | re.S)
    changed, found = last.subn(rf'\1\nsource "security/{lsm.name}/Kconfig"', text, count=1)
    if not found:
        raise BuildError(
            f"--with-lsm {lsm.path}: this kernel's security/Kconfig lists no module to stand beside"
        )
    return changed


def _makefile(text: str, lsm: OutOfTreeLsm) -> str:
    return f"{text.rstrip()}\nobj-$(CONFIG_{lsm.option}) += {lsm.name}/\n"


def _count_header(text: str, lsm: OutOfTreeLsm) -> str:
    """Since 6.12 the number of modules is a macro that lists the options of all."""
    macro = f"{lsm.option}_COUNTED"
    define = (
        f"#if IS_ENABLED(CONFIG_{lsm.option})\n#define {macro} 1,\n"
        f"#else\n#define {macro}\n#endif\n\n"
    )
    changed, found = _COUNT_LIST.subn(rf"{define}\1CAPABILITIES_ENABLED {macro}", text, count=1)
    if not found:
        raise BuildError(
            f"--with-lsm {lsm.path}: cannot add the module to the count in this kernel's "
            f"{_COUNT_HEADER}",
            hint="the kernel changed how it counts modules; use another version, or report it",
        )
    return changed


def _config_count(text: str, lsm: OutOfTreeLsm) -> str:
    """From 6.8 to 6.12 an array has one place for each module that security.c knows of."""
    line = f"\t(IS_ENABLED(CONFIG_{lsm.option}) ? 1 : 0) + \\\n"
    return _CONFIG_COUNT.sub(lambda match: match[0] + line, text, count=1)


_EDITS: Mapping[str, Callable[[str, OutOfTreeLsm], str]] = {
    "security/Kconfig": _kconfig,
    "security/Makefile": _makefile,
    _COUNT_HEADER: _count_header,
    _SECURITY_C: _config_count,
}


def check_count(read: Callable[[str], str | None], config: Mapping[str, str]) -> None:
    """Refuse more modules than the kernel can count: the macro would silently count wrongly."""
    header, args = read(_COUNT_HEADER), read("include/linux/args.h")
    places = _ARGS_PLACES.search(args or "")
    if header is None or places is None:
        return
    most = len([word for word in places[1].split(",") if word.strip().startswith("_")]) - 2
    enabled = [name for name in _COUNTED.findall(header) if config.get(name) == "y"]
    if len(enabled) > most:
        raise UsageError(
            f"this kernel counts at most {most} security modules, and {len(enabled)} are built in: "
            f"{', '.join(sorted(enabled))}",
            hint="leave one out with a fragment of your own that sets its option to n",
        )
