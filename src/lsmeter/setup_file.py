# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a setup of the user's own from a TOML file: `--setup ./mymodule.toml`.

It can say all that a setup that comes with lsmeter says, but for parameters. Nothing in it is
run on this machine. docs/own-setups.md lists the keys.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lsmeter.errors import UsageError
from lsmeter.model import Expectation, Setup
from lsmeter.policy import ACCESSES, ACTIONS, Layer, Proof, SetupFile, StateFile, Step
from lsmeter.registry import nearest
from lsmeter.toml_file import read_toml

SUFFIX = ".toml"
MAX_PART_BYTES = 16 << 20  # of one file that goes into the guest

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,49}$")]
_Word = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
_Text = Annotated[str, Field(min_length=1, max_length=2000)]
_Path = Annotated[str, Field(pattern=r"^/[ -~]{1,200}$")]
# TOML has lists only.
_Pair = Annotated[tuple[_Path, _Text], Field(strict=False)]
_Lsm = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Expect(_Table):
    fact: _Word
    value: str = Field(max_length=500)
    why: str = Field("the setup file expects it", min_length=1, max_length=200)


class _Proof(_Table):
    name: _Name
    access: str = Field(pattern=f"^({'|'.join(ACCESSES)})$")
    path: _Path
    denied: bool
    message: str = Field("", max_length=200)


class _State(_Table):
    name: _Name
    path: _Path


class _SetupTable(_Table):
    name: _Name
    title: str = Field(min_length=1, max_length=200)
    lsms: list[_Lsm] = Field(min_length=1, max_length=16)
    cmdline: list[_Word] = Field([], max_length=32)
    needs_config: list[Annotated[str, Field(pattern=r"^[A-Z0-9_]{1,80}$")]] = []
    note: str = Field("", max_length=500)
    image: str = Field("", max_length=400)
    files: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,60}$")], _Text] = {}
    steps: list[list[_Text]] = Field([], max_length=128)
    before: list[list[_Text]] = Field([], max_length=128)
    confine: list[_Pair] = Field([], max_length=4)
    proofs: list[_Proof] = Field([], max_length=32)
    states: list[_State] = Field([], max_length=8)
    counters: list[_State] = Field([], max_length=8)
    reads: dict[_Word, _Path] = {}
    expect: list[_Expect] = Field([], max_length=64)
    over: str = Field("capability", max_length=200)
    layer: Literal["hooks", "permissive", "policy", "audit", "integrity"] = "policy"


def read_setup(path: Path, *, where: str = "--setup") -> Setup:
    """Return the setup that the file describes.

    Raises UsageError, naming the file and the key, for a file that cannot be read or does not
    say what a setup has to.
    """
    data = read_toml(
        path,
        "a setup file",
        hint="docs/own-setups.md shows one",
        where=where,
        missing="no such setup file",
    )
    try:
        table = _SetupTable.model_validate(data)
    except ValidationError as error:
        raise _first_error(error, path) from None
    return Setup(
        name=table.name,
        title=table.title,
        lsms=tuple(table.lsms),
        cmdline=tuple(table.cmdline),
        expect=tuple(Expectation(item.fact, item.value, item.why) for item in table.expect),
        needs_config=tuple(table.needs_config),
        note=table.note,
        image=table.image,
        files=tuple(_part(path, name, source) for name, source in table.files.items()),
        steps=tuple(_step(path, "steps", words) for words in table.steps),
        before=tuple(_step(path, "before", words) for words in table.before),
        confine=tuple(table.confine),
        proofs=tuple(Proof(**item.model_dump()) for item in table.proofs),
        states=tuple(StateFile(item.name, item.path) for item in table.states),
        counters=tuple(StateFile(item.name, item.path) for item in table.counters),
        reads=tuple(table.reads.items()),
        over=table.over,
        layer=Layer(table.layer),
    )


def is_setup_file(word: str) -> bool:
    """Say whether a component of a setup's name is meant as a file."""
    return word.endswith(SUFFIX)


def _step(path: Path, key: str, words: list[str]) -> Step:
    if not words or words[0] not in ACTIONS:
        said = words[0] if words else ""
        raise UsageError(
            f"{path}: {key}: '{said[:40]}' is no action{nearest(said, ACTIONS)}",
            hint=f"known: {', '.join(ACTIONS)}",
        )
    return Step(words[0], tuple(words[1:]))


def _part(path: Path, name: str, source: str) -> SetupFile:
    """Read a file that goes into the guest; its path is relative to the setup file."""
    part = path.parent / source
    try:
        if part.stat().st_size > MAX_PART_BYTES:
            raise UsageError(f"{path}: files.{name}: {part} has more than {MAX_PART_BYTES} bytes")
        data = part.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: files.{name}: cannot read {part}: {error.strerror}",
            hint="paths are relative to the setup file",
        ) from error
    return SetupFile(name, base64=base64.b64encode(data).decode())


def _first_error(error: ValidationError, path: Path) -> UsageError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = sorted(_SetupTable.model_fields)
        word = str(first["loc"][-1])
        return UsageError(
            f"{path}: unknown key '{key[:80]}'{nearest(word, known)}",
            hint=f"known keys: {', '.join(known)}",
        )
    if first["type"] == "missing":
        return UsageError(f"{path}: {key}: missing", hint="docs/own-setups.md lists every key")
    said = first["msg"].replace("Input should", "it should")
    return UsageError(
        f"{path}: {key}: {said[0].lower()}{said[1:]}, not {str(first.get('input'))[:60]!r}",
        hint="docs/own-setups.md lists every key",
    )
