# SPDX-License-Identifier: GPL-2.0-or-later
"""What an image is made of: one TOML file, and a directory of files that go into it.

Definitions that come with lsmeter are `src/lsmeter/images/NAME.toml`; a user's own is named by
its path. Everything that a definition says is part of the image's identity.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lsmeter.errors import UsageError
from lsmeter.registry import nearest, unknown
from lsmeter.toml_file import read_toml

SUFFIX = ".toml"
# Raised when the builder itself makes other images from the same definition.
BUILDER = 2
_MAX_PART_BYTES = 64 << 20

_Package = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]{1,99}$")]
_Path = Annotated[str, Field(pattern=r"^/[!-~]{1,200}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=200)
    suite: Annotated[str, Field(pattern=r"^[a-z]{2,30}$")] = "bookworm"
    packages: tuple[_Package, ...] = Field(max_length=500)
    keep: tuple[_Path, ...] = ()
    files: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] | None = None
    prepare: _Path | None = None
    labels: bool = False
    tools: tuple[_Path, ...] = ()
    size_mib: int = Field(1024, ge=64, le=65536, strict=True)


@dataclass(frozen=True)
class FilePart:
    """One file that the definition puts into the image; path begins with a slash."""

    path: str
    data: bytes
    executable: bool = False


@dataclass(frozen=True)
class ImageDefinition:
    """All that determines an image, but for the versions of packages and programs.

    packages are asked for by name, keep are patterns of paths under documentation that stay,
    prepare is a script (a path in the image) that is run in the tree, labels says whether each
    file gets its SELinux context, tools are the paths that the finished image must have.
    """

    name: str
    title: str
    suite: str
    packages: tuple[str, ...]
    keep: tuple[str, ...] = ()
    files: tuple[FilePart, ...] = ()
    prepare: str = ""
    labels: bool = False
    tools: tuple[str, ...] = ()
    size_mib: int = 1024


def shipped_dir() -> Path:
    """Return the directory of the definitions that come with lsmeter."""
    return Path(__file__).parents[1] / "images"


def definition_names() -> tuple[str, ...]:
    """Return the names of the definitions that come with lsmeter."""
    return tuple(sorted(path.stem for path in shipped_dir().glob(f"*{SUFFIX}")))


def load_definition(word: str) -> ImageDefinition:
    """Return the definition that `word` names, or the user's own file (`./mine.toml`).

    Raises UsageError for a name that is not known, or a file that is not a definition.
    """
    if "/" in word or word.endswith(SUFFIX):
        return read_definition(Path(word).expanduser())
    if word not in definition_names():
        raise unknown("image", word, definition_names())
    return read_definition(shipped_dir() / f"{word}{SUFFIX}")


def read_definition(path: Path) -> ImageDefinition:
    """Read a definition and the files that belong to it."""
    hint = (
        "docs/images.md lists every key; "
        f"images that come with lsmeter: {', '.join(definition_names())}"
    )
    table = check_table(read_toml(path, "an image definition", hint=hint), where=str(path))
    name = path.name.removesuffix(SUFFIX)
    files = read_files(path.parent / table["files"]) if table["files"] else ()
    return ImageDefinition(**{**table, "name": _checked_name(name, path), "files": files})


def check_table(data: dict[str, Any], *, where: str) -> dict[str, Any]:
    """Check what a definition says; return its keys, with their defaults."""
    try:
        table = _Table.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            close = nearest(key, _Table.model_fields)
            raise UsageError(f"{where}: unknown key '{key}'{close}") from None
        raise UsageError(f"{where}: {key}: {first['msg']}") from None
    return {**table.model_dump(), "prepare": table.prepare or ""}


def _checked_name(name: str, path: Path) -> str:
    if not name.isascii() or not name.replace("-", "").replace(".", "").isalnum():
        raise UsageError(
            f"{path}: '{name}' cannot name an image",
            hint="call the file by letters, digits, '.' and '-': my-policy.toml",
        )
    return name


def read_files(root: Path) -> tuple[FilePart, ...]:
    """Read the files that go into an image, sorted by path; raise UsageError if one cannot be."""
    if not root.is_dir():
        raise UsageError(f"{root}: no such directory of files for the image")
    found = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        found += [_part(Path(folder) / name, root) for name in names]
    return tuple(sorted(found, key=lambda part: part.path))


def _part(path: Path, root: Path) -> FilePart:
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path}: only plain files can go into an image")
    try:
        if path.stat().st_size > _MAX_PART_BYTES:
            raise UsageError(f"{path}: larger than {_MAX_PART_BYTES} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read it: {error.strerror}") from error
    return FilePart(f"/{path.relative_to(root)}", data, executable=os.access(path, os.X_OK))


def identity(definition: ImageDefinition, programs: dict[str, str]) -> str:
    """Return the hash of all that determines an image before packages are chosen.

    programs: name and version of each program that takes part in the build.
    """
    digest = hashlib.sha256()
    facts = {key: value for key, value in sorted(vars(definition).items()) if key not in ("files",)}
    head = {"builder": BUILDER, "definition": facts, "programs": programs}
    digest.update(json.dumps(head, sort_keys=True).encode())
    for part in definition.files:
        for field in (part.path.encode(), b"x" if part.executable else b"-", part.data):
            digest.update(len(field).to_bytes(8, "little") + field)
    return digest.hexdigest()
