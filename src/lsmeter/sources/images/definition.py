# SPDX-License-Identifier: GPL-2.0-or-later
"""What an image is made of: one TOML file, and a directory of files that go into it.

Definitions that come with lsmeter are `definitions/NAME.toml`; a user's own is named by
its path. Everything that a definition says is part of the image's identity.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lsmeter.core import process
from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import beside
from lsmeter.core.model.arch import X86_64, Arch
from lsmeter.core.registry import unknown
from lsmeter.core.storage import reading
from lsmeter.core.toml_file import checked, read_toml

SUFFIX = ".toml"
SHIPPED = Path(__file__).parent / "definitions"  # those that come with lsmeter
BUILDS = ("mmdebstrap", "mke2fs", "debugfs")  # the programs that take part in a build
# Raised when the builder itself makes other images from the same definition.
BUILDER = 2
_MAX_PART_BYTES = 64 << 20

_Package = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]{1,99}$")]
_Path = Annotated[str, Field(pattern=r"^/[!-~]{1,200}$")]


@dataclass(frozen=True)
class FilePart:
    """One file that the definition puts into the image; path begins with a slash."""

    path: str
    data: bytes
    executable: bool = False


class Table(BaseModel):
    """What a definition's file says.

    packages are asked for by name, keep are patterns of paths under documentation that stay,
    files is the directory of parts beside the definition, prepare is a script (a path in the
    image) that is run in the tree, labels says whether each file gets its SELinux context, tools
    are the paths that the finished image must have. extends names a definition whose packages,
    keep, files, prepare and tools come first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=200)
    extends: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    suite: Annotated[str, Field(pattern=r"^[a-z]{2,30}$")] = "bookworm"
    packages: tuple[_Package, ...] = Field(max_length=500)
    keep: tuple[_Path, ...] = ()
    files: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] | None = None
    prepare: Annotated[str, Field(pattern=r"^(/[!-~]{1,200})?$")] = ""
    labels: bool = False
    tools: tuple[_Path, ...] = ()
    size_mib: int = Field(1024, ge=64, le=65536, strict=True)


class ImageDefinition(Table):
    """All that determines an image, but for the versions of packages and programs."""

    name: str  # of the file
    parts: tuple[FilePart, ...] = Field((), exclude=True)
    # The scripts of the definitions that this one extends, run before its own.
    prepare_before: tuple[_Path, ...] = ()


def definition_names() -> tuple[str, ...]:
    """Return the names of the definitions that come with lsmeter."""
    return tuple(sorted(path.stem for path in SHIPPED.glob(f"*{SUFFIX}")))


def load_definition(word: str, extending: tuple[Path, ...] = ()) -> ImageDefinition:
    """Return the definition that `word` names, or the user's own file (`./mine.toml`).

    extending: the files that lead to it.
    """
    own = "/" in word or word.endswith(SUFFIX)
    if not own and word not in definition_names():
        raise unknown("image", word, definition_names())
    path = Path(word).expanduser() if own else SHIPPED / f"{word}{SUFFIX}"
    if path.resolve() in extending:
        raise UsageError(f"{extending[-1]}: extends: in the end it extends itself")
    names = ", ".join(definition_names())
    hint = f"every key: lsmeter help images; images that come with lsmeter: {names}"
    data = read_toml(path, "an image definition", hint=hint)
    table = checked(Table, data, where=str(path), hint=hint)
    name = path.name.removesuffix(SUFFIX)
    if not name.isascii() or not name.replace("-", "").replace(".", "").isalnum():
        raise UsageError(
            f"{path}: '{name}' cannot name an image",
            hint="call the file by letters, digits, '.' and '-': my-policy.toml",
        )
    parts = _read_files(beside(path, table.files, f"{path}: files")) if table.files else ()
    definition = ImageDefinition(**table.model_dump(), name=name, parts=parts)
    if table.extends is None:
        return definition
    base = table.extends
    if "/" in base or base.endswith(SUFFIX):
        base = str(beside(path, base, f"{path}: extends"))
    return extended(load_definition(base, (*extending, path.resolve())), definition, str(path))


def extended(base: ImageDefinition, own: ImageDefinition, where: str) -> ImageDefinition:
    """Return `own` after all that `base` has; UsageError where they contradict each other; pure."""
    if base.suite != own.suite:
        raise UsageError(
            f"{where}: suite: '{own.suite}', but it extends {base.name}, which is '{base.suite}'",
            hint=f'suite = "{base.suite}"',
        )
    if twice := {part.path for part in base.parts} & {part.path for part in own.parts}:
        raise UsageError(
            f"{where}: files: {min(twice)} is in {base.name}, which it extends",
            hint="give the file another name, and change the base's in the script `prepare`",
        )

    def both(field: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*getattr(base, field), *getattr(own, field))))

    return own.model_copy(
        update={
            "packages": both("packages"),
            "keep": both("keep"),
            "tools": both("tools"),
            "parts": tuple(sorted((*base.parts, *own.parts), key=lambda part: part.path)),
            "prepare_before": (*base.prepare_before, *(base.prepare,) * bool(base.prepare)),
            "labels": base.labels or own.labels,
        }
    )


def _read_files(root: Path) -> tuple[FilePart, ...]:
    """Read the files that go into an image, sorted by path; raise UsageError if one cannot be."""
    if not root.is_dir():
        raise UsageError(f"{root}: no such directory of files for the image")
    parts = (_part(path, root) for path in root.rglob("*") if not path.is_dir())
    return tuple(sorted(parts, key=lambda part: part.path))


def _part(path: Path, root: Path) -> FilePart:
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path}: only plain files can go into an image")
    if path.stat().st_size > _MAX_PART_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_PART_BYTES} bytes")
    with reading(path):
        data = path.read_bytes()
    return FilePart(f"/{path.relative_to(root)}", data, executable=os.access(path, os.X_OK))


def identity(definition: ImageDefinition, programs: dict[str, str], arch: Arch = X86_64) -> str:
    """Return the hash of all that determines an image; programs: the versions of what builds it."""
    digest = hashlib.sha256()
    # Left out where there are none, so that an image that extends nothing keeps its identity.
    alone = {"prepare_before"} if not definition.prepare_before else set()
    facts = definition.model_dump(exclude={"files", "extends", *alone})
    head = {"builder": BUILDER, "definition": facts, "programs": programs}
    head |= {"arch": arch.name} if arch is not X86_64 else {}
    digest.update(json.dumps(head, sort_keys=True).encode())
    for part in definition.parts:
        for field in (part.path.encode(), b"x" if part.executable else b"-", part.data):
            digest.update(len(field).to_bytes(8, "little") + field)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the version of each program that takes part in a build; raise if one is missing."""
    process.need(BUILDS, "images are built and read with it")
    found = {}
    for program, option in (("mmdebstrap", "--version"), ("mke2fs", "-V"), ("debugfs", "-V")):
        done = process.run([program, option])
        match = re.search(r"\d+\.\d[\w.]*", done.stdout + done.stderr)
        found[program] = match[0] if match else "unknown"
    return found
