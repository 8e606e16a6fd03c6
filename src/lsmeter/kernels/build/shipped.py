# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the kernel files that come with lsmeter: fragments and module directories."""

from __future__ import annotations

from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.kernels.build.fragment import Fragment, parse_fragment
from lsmeter.registry import unknown

_SUFFIX = ".config"


def kernel_dir() -> Path:
    """Return the directory `kernel/`: in the installed package, else in the work tree."""
    package = Path(__file__).parents[2]
    for candidate in (package / "_kernel", package.parents[1] / "kernel"):
        if (candidate / "config").is_dir():
            return candidate
    raise InfrastructureError(
        "the kernel fragments of lsmeter are missing", hint="install lsmeter again"
    )


def fragment_names() -> tuple[str, ...]:
    """Return the names of all fragments that come with lsmeter."""
    return tuple(sorted(path.stem for path in (kernel_dir() / "config").glob(f"*{_SUFFIX}")))


def load_fragment(word: str) -> Fragment:
    """Return the fragment that `word` names, or the user's own file (`./my.config`)."""
    if "/" in word or word.endswith(_SUFFIX):
        return _own(Path(word).expanduser())
    if word not in fragment_names():
        raise unknown("fragment", word, fragment_names(), where="--config")
    path = kernel_dir() / "config" / f"{word}{_SUFFIX}"
    return parse_fragment(word, path.read_text(encoding="utf-8"))


def _own(path: Path) -> Fragment:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(
            f"--config {path}: cannot read it: {reason}",
            hint=f"fragments that come with lsmeter: {', '.join(fragment_names())}",
        ) from error
    return parse_fragment(path.name.removesuffix(_SUFFIX), text)


def shipped_lsm(name: str) -> Path:
    """Return the directory of a module that comes with lsmeter."""
    return kernel_dir() / name
