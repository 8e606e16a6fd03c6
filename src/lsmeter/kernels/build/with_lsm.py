# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds a security module that lives outside the kernel to a copy of the kernel's tree.

The module is a directory with Kconfig, Makefile and C files, as it would stand under security/.
This says which files of the tree must change for it; `farm` puts them in place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import BuildError, UsageError
from lsmeter.kernels.build.fragment import Assignment

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_OPTION = re.compile(r"^(?:menu)?config[ \t]+([A-Z][A-Z0-9_]*)[ \t]*$", re.M)
_FILES = re.compile(r"Kconfig.*|Makefile|Kbuild|.+\.(c|h|S|config|inc)")
_MAX_FILES = 2_000
_MAX_BYTES = 32 << 20
_HINT = (
    "a module is a directory with Kconfig, Makefile and C files; see docs/kernels-from-source.md"
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


def read_lsm(path: Path) -> OutOfTreeLsm:
    """Read the module in the directory `path`; raise UsageError for what is wrong with it."""
    path = path.expanduser().absolute()
    if not path.is_dir():
        what = "is no directory" if path.exists() else "does not exist"
        raise UsageError(f"--with-lsm {path} {what}", hint=_HINT)
    if not _NAME.fullmatch(path.name):
        raise UsageError(
            f"--with-lsm {path}: '{path.name}' cannot be a directory's name under security/",
            hint="rename it: lower-case letters, digits, - and _, at most 32",
        )
    for needed in ("Kconfig", "Makefile"):
        if not (path / needed).is_file():
            raise UsageError(f"--with-lsm {path}: it has no {needed}", hint=_HINT)
    files = tuple(_files(path))
    if not any(name.endswith(".c") for name, _ in files):
        raise UsageError(f"--with-lsm {path}: it has no C file", hint=_HINT)
    kconfig = dict(files)["Kconfig"].decode(errors="replace")
    option = _OPTION.search(kconfig)
    if option is None:
        raise UsageError(
            f"--with-lsm {path}: its Kconfig defines no option",
            hint="the first 'config NAME' of it is the option that builds the module in",
        )
    return OutOfTreeLsm(path.name, option[1], path, files)


def _files(path: Path) -> Iterable[tuple[str, bytes]]:
    total = 0
    found = sorted(file for file in path.rglob("*") if _belongs(file, path))
    if len(found) > _MAX_FILES:
        raise UsageError(f"--with-lsm {path}: it has {len(found)} files", hint=_HINT)
    for file in found:
        content = file.read_bytes()
        total += len(content)
        if total > _MAX_BYTES:
            raise UsageError(f"--with-lsm {path}: larger than {_MAX_BYTES >> 20} MiB", hint=_HINT)
        yield file.relative_to(path).as_posix(), content


def _belongs(file: Path, top: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(top).parts)
    built = file.name.endswith(".mod.c")
    return file.is_file() and not hidden and not built and bool(_FILES.fullmatch(file.name))


def overlay(lsms: Iterable[OutOfTreeLsm], read: Callable[[str], str | None]) -> dict[str, bytes]:
    """Return the files (relative to the tree) that differ from the kernel's with `lsms` in it.

    read gives the text of a file of the kernel's tree, None where there is none.
    """
    changed: dict[str, str] = {}
    own: dict[str, bytes] = {}
    for lsm in lsms:
        if read(f"security/{lsm.name}/Makefile") is not None or _taken(lsm, own):
            raise UsageError(
                f"--with-lsm {lsm.path}: the kernel already has security/{lsm.name}",
                hint="rename the directory, and its option if it is the same too",
            )
        own |= {f"security/{lsm.name}/{name}": content for name, content in lsm.files}
        for path, edit in _EDITS.items():
            text = changed.get(path) or read(path)
            if text is not None:
                changed[path] = edit(text, lsm)
    return own | {path: text.encode() for path, text in changed.items()}


def _taken(lsm: OutOfTreeLsm, own: Mapping[str, bytes]) -> bool:
    return f"security/{lsm.name}/Makefile" in own


def _kconfig(text: str, lsm: OutOfTreeLsm) -> str:
    marks = list(re.finditer(r'^source "security/[a-z]+/Kconfig"$', text, re.M))
    if not marks:
        raise BuildError(
            f"--with-lsm {lsm.path}: this kernel's security/Kconfig lists no module to stand beside"
        )
    end = marks[-1].end()
    return f'{text[:end]}\nsource "security/{lsm.name}/Kconfig"{text[end:]}'


def _makefile(text: str, lsm: OutOfTreeLsm) -> str:
    return f"{text.rstrip()}\nobj-$(CONFIG_{lsm.option}) += {lsm.name}/\n"


def _count_header(text: str, lsm: OutOfTreeLsm) -> str:
    """Since 6.12 the number of modules is a macro that lists the options of all."""
    macro = f"{lsm.option}_COUNTED"
    define = (
        f"#if IS_ENABLED(CONFIG_{lsm.option})\n#define {macro} 1,\n"
        f"#else\n#define {macro}\n#endif\n\n"
    )
    match = _COUNT_LIST.search(text)
    if match is None:
        raise _uncountable(lsm, _COUNT_HEADER)
    listed = f"{match[1]}CAPABILITIES_ENABLED {macro}"
    return text[: match.start()] + define + listed + text[match.end() :]


def _config_count(text: str, lsm: OutOfTreeLsm) -> str:
    """From 6.8 to 6.12 an array has one place for each module that security.c knows of."""
    match = _CONFIG_COUNT.search(text)
    if match is None:
        return text
    line = f"\t(IS_ENABLED(CONFIG_{lsm.option}) ? 1 : 0) + \\\n"
    return text[: match.end()] + line + text[match.end() :]


def _uncountable(lsm: OutOfTreeLsm, path: str) -> BuildError:
    return BuildError(
        f"--with-lsm {lsm.path}: cannot add the module to the count in this kernel's {path}",
        hint="the kernel changed how it counts modules; use another version, or report it",
    )


_EDITS: Mapping[str, Callable[[str, OutOfTreeLsm], str]] = {
    "security/Kconfig": _kconfig,
    "security/Makefile": _makefile,
    _COUNT_HEADER: _count_header,
    _SECURITY_C: _config_count,
}


def check_count(read: Callable[[str], str | None], config: Mapping[str, str]) -> None:
    """Refuse more modules than the kernel can count: the macro would silently count wrongly.

    read gives files of the tree with the modules added. Raises UsageError.
    """
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
