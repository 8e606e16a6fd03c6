# SPDX-License-Identifier: GPL-2.0-or-later
"""What the inventory assumes of a kernel's source (rules.toml), and what the study printed.

Each rule can be wrong. The study's tables are in lsmeter.catalogue.studies.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from lsmeter.catalogue.studies import printed_rows
from lsmeter.core.model.arch import Arch
from lsmeter.questions.hooks.source.model import Count

_RULES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text())

_PREFIXES = {name: re.compile("|".join(of)) for name, of in _RULES["classes"].items()}
CLASSES: Final = tuple(_PREFIXES)  # of objects, as in Table 5 and beyond
TABLE5_CLASSES = CLASSES[:14]
FILE_ACCESS_CLASSES = ("inode", "dentry", "file", "superblock", "path", "bprm")
OTHER = "other"  # of hooks that no prefix fits

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {  # rows of Table 7: the calls of each
    row: tuple(calls) for row, calls in _RULES["families"].items()
}
SYSCALLS: Final = (  # all that are analysed: those of Table 7 in its order, then the others
    *(call for calls in FAMILIES.values() for call in calls),
    *_RULES["other"]["syscalls"],
)
TREE: Final[Mapping[str, Any]] = _RULES["tree"]
PLAIN_WORDS: Final = tuple(_RULES["words"]["plain"])
CALLED_WORDS: Final = tuple(_RULES["words"]["calls"])
VFS_STRUCTS: Final = frozenset(_RULES["vfs"]["structs"])
NOISE: Final = frozenset(_RULES["noise"]["functions"])
OPTIONS_OFF: Final = frozenset(_RULES["off"]["options"])
_REASONS = {
    kind: "; ".join(rule["reason"] for rule in _RULES[kind]) for kind in ("barrier", "rare")
}
_OFF = ", ".join(sorted(name for name in OPTIONS_OFF if name.startswith("CONFIG_")))
NOTES: Final = tuple(note.format(off=_OFF, **_REASONS) for note in _RULES["notes"]["notes"])

# Hooks of these classes ask whether a file may be used as the system call wants to…
_DECIDING_CLASSES = frozenset({"inode", "file", "path"})
# …but for those that make, end, label or copy security data, or come after the fact.
_NO_DECISION = re.compile(
    r"_(alloc|free|init|post|copy_up|release|invalidate|notify)(_|$)|^inode_(getsecurity|setsecurity"
    r"|listsecurity|getsecid|getlsmprop|need_killpriv|killpriv|setintegrity|setsecctx|getsecctx"
    r"|notifysecctx|xattr_skipcap)|set_fowner|_security$"
)


_ROW = re.compile(r"^\d+[ \t]+(\w+)[ \t]+\w+[ \t]+sys_(\w+)", re.MULTILINE)
_IN_HEADER = re.compile(r"\bsys_(\w+)")


def calls_of(arch: Arch, path: str, table: str) -> tuple[str, ...]:
    """Return the SYSCALLS of an architecture: of a .tbl file, or of a header that lists them."""
    if path.endswith(".h"):
        known = set(_IN_HEADER.findall(table))
    else:
        known = {name for abi, name in _ROW.findall(table) if abi in arch.call_abis}
    return tuple(name for name in SYSCALLS if name in known)


def _matcher(kind: str) -> Callable[[str], re.Match[str] | None]:
    patterns = (pattern for rule in _RULES[kind] for pattern in rule["functions"])
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)).fullmatch


is_barrier = _matcher("barrier")  # the walk ends at a function of this name
is_rare = _matcher("rare")  # a function of this name is no part of an ordinary call


def object_class(hook: str) -> str:
    """Return the class of a hook; "other" when no prefix fits."""
    return next((name for name, fits in _PREFIXES.items() if fits.match(hook)), OTHER)


def decides(hook: str, returns: str) -> bool:
    """Tell whether a hook is an access check of a file: not about security data itself."""
    if returns != "int" or object_class(hook) not in _DECIDING_CLASSES:
        return False
    return not _NO_DECISION.search(hook)


def least_needed() -> dict[str, Count]:
    """Return the decisions that POSIX needs (Table 7, column Min Hook), by system call."""
    rows = printed_rows("asiaccs21-table7.csv")
    return {
        call: Count.parse(row["least"]) for row in rows for call in FAMILIES.get(row["syscall"], ())
    }
