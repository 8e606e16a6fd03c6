# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration: what fragments say, how they merge, and whether kconfig made what was asked for.

A fragment is a file of `CONFIG_NAME=value` lines. Its header is comments: `# title:` (one line),
and where needed `# foundation:` (the fragment that it stands on: `base` unless it says another,
`none` when it is itself a foundation), `# objects:` (about how many files a first build
compiles) and `# with-lsm:` (a module directory that comes with lsmeter). A line
`# optional: why` above an option says that a kernel that does not know the option is no error. A
line `# architecture: NAME` says of the options from there to an empty line that they are of that
architecture alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.core.errors import BuildError, UsageError
from lsmeter.core.inputs import read_file, whole_number
from lsmeter.core.model.arch import X86_64, Arch, find_arch
from lsmeter.core.registry import unknown
from lsmeter.core.storage import reading, write_atomic
from lsmeter.sources.kernels.build import kconfig
from lsmeter.sources.kernels.build.make import Slot, run_make
from lsmeter.sources.kernels.tree import parse_config

DEFAULT_FOUNDATION = "base"
_NO_FOUNDATION = "none"
_MAX_FRAGMENT_CHARS = 1_000_000
_SUFFIX = ".config"

_ASSIGNMENT = re.compile(r"CONFIG_([A-Za-z0-9_]+)=(y|n|m|-?[0-9]+|0x[0-9a-fA-F]+|\"[^\"\\]*\")")
_NOT_SET = re.compile(r"# CONFIG_([A-Za-z0-9_]+) is not set")
# What kconfig read for the last configuration, by its own account.
_READ = re.compile(r"^deps_config := \\\n((?:\t\S+(?: \\)?\n)+)$", re.MULTILINE)
_STAMP = "configured"
_ARCHITECTURE = re.compile(r"# architecture: (\S+)")
_HEADER = re.compile(r"# (title|foundation|objects|with-lsm): (.+)")


@dataclass(frozen=True)
class Assignment:
    """One option that a fragment asks for; the name has no CONFIG_ prefix."""

    option: str
    value: str
    fragment: str
    line: int
    optional: bool = False
    arch: str = ""  # the only one that has it

    @property
    def text(self) -> str:
        """Say it as a configuration file does."""
        return f"CONFIG_{self.option}={self.value}"


@dataclass(frozen=True)
class Fragment:
    """A named set of options. objects is 0 when the header does not tell it."""

    name: str
    title: str
    assignments: tuple[Assignment, ...]
    foundation: str | None = DEFAULT_FOUNDATION
    objects: int = 0
    with_lsm: tuple[str, ...] = ()

    def of_arch(self, arch: Arch) -> Fragment:
        """Return it without what is of other architectures."""
        kept = tuple(item for item in self.assignments if item.arch in {"", arch.name})
        return replace(self, assignments=kept)


def parse_fragment(name: str, text: str) -> Fragment:
    """Read the fragment `name`; raise UsageError with the line for anything unknown in it."""
    if len(text) > _MAX_FRAGMENT_CHARS:
        raise UsageError(f"fragment {name}: too long ({len(text)} characters)")
    header: dict[str, str] = {}
    found: dict[str, Assignment] = {}
    optional, arch = False, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line, place = raw.strip(), f"fragment {name}, line {number}"
        if match := _ASSIGNMENT.fullmatch(line) or _NOT_SET.fullmatch(line):
            option, value = (*match.groups(), "n")[:2]
            if earlier := found.get(option):
                raise UsageError(f"{place}: CONFIG_{option} is already set in line {earlier.line}")
            found[option] = Assignment(option, value, name, number, optional, arch)
        elif match := _ARCHITECTURE.fullmatch(line):
            arch = find_arch(match[1], where=place).name
        elif match := _HEADER.fullmatch(line):
            header[match[1]] = match[2].strip()
        elif not line:
            arch = ""
        elif not line.startswith("#"):
            raise UsageError(
                f"{place}: not an option: {line[:80]}",
                hint="lines are CONFIG_NAME=value, with y, n, m, a number or a quoted text",
            )
        optional = line.startswith("# optional:")
    foundation = header.get("foundation", DEFAULT_FOUNDATION)
    objects = whole_number(told := header.get("objects", "0"))
    if objects is None:
        raise UsageError(f"fragment {name}: '# objects: {told[:40]}' is not a number")
    return Fragment(
        name=name,
        title=header.get("title", ""),
        assignments=tuple(found.values()),
        foundation=None if foundation == _NO_FOUNDATION else foundation,
        objects=objects,
        with_lsm=tuple(header.get("with-lsm", "").split()),
    )


def foundation_of(fragments: Sequence[Fragment]) -> str | None:
    """Return the foundation to add, None when one of the fragments is a foundation itself."""
    own = [fragment.name for fragment in fragments if fragment.foundation is None]
    if len(own) > 1:
        raise UsageError(
            f"the fragments {' and '.join(own)} cannot be combined: each is a whole foundation",
            hint="name one of them",
        )
    if own:
        return None
    wanted = sorted({fragment.foundation or "" for fragment in fragments})
    if len(wanted) > 1:
        raise UsageError(f"the fragments stand on different foundations: {', '.join(wanted)}")
    return wanted[0] if wanted else DEFAULT_FOUNDATION


def merge(fragments: Sequence[Fragment]) -> tuple[Assignment, ...]:
    """Merge, sorted by option: a foundation gives way; others that disagree are a UsageError."""
    bases = [part for part in fragments if part.foundation is None]
    below = {item.option: item for part in bases for item in part.assignments}
    merged: dict[str, Assignment] = {}
    for later in (item for part in fragments if part.foundation for item in part.assignments):
        earlier = merged.get(later.option)
        if earlier and earlier.value != later.value:
            raise UsageError(
                f"the fragments {earlier.fragment} and {later.fragment} cannot be combined: "
                f"{earlier.text} (line {earlier.line}) against {later.text} (line {later.line})",
                hint="build two kernels, or write one fragment: --config FILE.config",
            )
        if earlier is None or earlier.optional:
            merged[later.option] = later
    for option, item in below.items():
        if option not in merged or (merged[option].value == item.value and not item.optional):
            merged[option] = item
    return tuple(merged[option] for option in sorted(merged))


def config_text(assignments: Iterable[Assignment]) -> str:
    """Write the merged options as a file for KCONFIG_ALLCONFIG."""
    return "".join(f"{assignment.text}\n" for assignment in assignments)


def dropped(assignments: Iterable[Assignment], config: Mapping[str, str]) -> tuple[Assignment, ...]:
    """Return what was asked for but is not so in the final `config` (of parse_config)."""

    def plain(value: str) -> str:
        return hex(int(value, 16)) if value.startswith("0x") else value.strip('"')

    return tuple(
        assignment
        for assignment in assignments
        if plain(assignment.value) != plain(config.get(assignment.option, "n"))
    )


def kernel_dir() -> Path:
    """Return the directory `kernel/`: in the installed package, else in the work tree."""
    package = Path(__file__).parents[3]
    installed = package / "_kernel"
    return installed if installed.is_dir() else package.parents[1] / "kernel"


def fragment_names() -> tuple[str, ...]:
    """Return the names of all fragments that come with lsmeter."""
    return tuple(sorted(path.stem for path in (kernel_dir() / "config").glob(f"*{_SUFFIX}")))


def load_fragment(word: str) -> Fragment:
    """Return the fragment that `word` names, or the user's own file (`./my.config`)."""
    if "/" in word or word.endswith(_SUFFIX):
        path = Path(word).expanduser()
    elif word in fragment_names():
        path = kernel_dir() / "config" / f"{word}{_SUFFIX}"
    else:
        raise unknown("fragment", word, fragment_names(), where="--config")
    hint = f"fragments that come with lsmeter: {', '.join(fragment_names())}"
    with reading(f"--config {path}", hint):
        text = read_file(path, 1 << 20, "a fragment", where="--config").decode(errors="replace")
    return parse_fragment(path.name.removesuffix(_SUFFIX), text)


def shipped_lsm(name: str) -> Path:
    """Return the directory of a module that comes with lsmeter."""
    return kernel_dir() / name


def configure(assignments: Sequence[Assignment], slot: Slot) -> Mapping[str, str]:
    """Make the slot's .config of `assignments` and return it; raise BuildError if one is dropped.

    Nothing runs when the slot was last built from the same options, Kconfig files and .config: a
    .config that is written again, be it the same, costs make seconds of work.
    """
    wanted, stamp = slot.home / "wanted.config", slot.home / _STAMP
    text = config_text(assignments).encode()
    if not stamp.is_file() or stamp.read_text() != (_digest(slot, text) or "?"):
        stamp.unlink(missing_ok=True)
        write_atomic(wanted, text)
        run_make(slot, ["allnoconfig"], extra={"KCONFIG_ALLCONFIG": str(wanted)})
    config = parse_config((slot.objects / ".config").read_text(encoding="utf-8"))
    check_config(assignments, config, tree_reader(slot.tree), slot.arch)
    return config


def remember(assignments: Sequence[Assignment], slot: Slot) -> None:
    """Note what the slot's configuration was made of.

    To be called once it has been built, from a source that did not change meanwhile: the files
    are read now, and a newer Kconfig would pass for the one that .config was made of. A note that
    is there still holds.
    """
    stamp = slot.home / _STAMP
    if not stamp.exists():
        write_atomic(stamp, _digest(slot, config_text(assignments).encode()).encode())


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
    assignments: Sequence[Assignment],
    config: Mapping[str, str],
    read: kconfig.Reader,
    arch: Arch = X86_64,
) -> None:
    """Raise BuildError that names each option that kconfig dropped, who wanted it, and why."""
    lost = dropped(assignments, config)
    tree = kconfig.read_kconfig(read, arch) if lost else kconfig.Kconfig()
    lines = [
        f"{item.text} ({item.fragment}, line {item.line}): "
        f"{kconfig.reason(tree, config, item.option, item.value)}"
        for item in lost
        if item.option in tree.definitions or not item.optional
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
