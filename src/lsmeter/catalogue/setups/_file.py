# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads setups from TOML: a user's own (`--setup ./mymodule.toml`), and those of lsmeter.

A user's own has neither parameters nor a part that touches this machine: nothing in its file is
run here. `lsmeter help own-setups` lists the keys.
"""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
)

from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import beside, read_file
from lsmeter.core.model import Expectation, Setup
from lsmeter.core.model.setup import (
    ACCESSES,
    ACTIONS,
    EnforcementCheck,
    Layer,
    SetupFile,
    StateFile,
    Step,
)
from lsmeter.core.registry import nearest
from lsmeter.core.toml_file import checked, read_toml

SUFFIX = ".toml"
_HINT = "every key: lsmeter help own-setups"
_MAX_PART_BYTES = 1 << 20  # of one file that goes into the guest
_MAX_PARTS = 64

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,49}$")]
_Word = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
_Text = Annotated[str, Field(min_length=1, max_length=2000)]
_Path = Annotated[str, Field(pattern=r"^/[ -~]{1,200}$")]
# TOML has lists only.
_Pair = Annotated[tuple[_Path, _Text], Field(strict=False)]
_Lsm = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _Expect(_Table):
    fact: _Word
    value: str = Field(max_length=500)
    why: str = Field("the setup file expects it", min_length=1, max_length=200)


class _Check(_Table):
    name: _Name
    access: str = Field(pattern=f"^({'|'.join(ACCESSES)})$")
    path: _Path
    denied: bool
    message: str = Field("", max_length=200)


class _State(_Table):
    name: _Name
    path: _Path


def _step(words: list[str], info: ValidationInfo) -> Step:
    said = words[0] if words else ""
    if said not in ACTIONS:
        raise UsageError(
            f"{info.context}: {info.field_name}: '{said[:40]}' is no action"
            + nearest(said, ACTIONS),
            hint=f"known: {', '.join(ACTIONS)}",
        )
    return Step(said, tuple(words[1:]))


def _files(sources: dict[str, str], info: ValidationInfo) -> tuple[SetupFile, ...]:
    """Read the files that go into the guest, which are beside the setup file."""
    file: Any = info.context
    found: list[SetupFile] = []
    for name, source in sources.items():
        named = f"{file}: files.{name}"
        part = beside(file, source, named)
        try:
            data = read_file(part, _MAX_PART_BYTES, "a file for a guest", where=named)
        except OSError as error:
            raise UsageError(
                f"{named}: cannot read {part}: {error.strerror}",
                hint="paths are relative to the setup file",
            ) from error
        found.append(SetupFile(name, base64=base64.b64encode(data).decode()))
    return tuple(found)


def _image(word: str, info: ValidationInfo) -> str:
    """Return the image's name, or the path of what is beside the setup file."""
    file: Any = info.context
    return str(beside(file, word, f"{file}: image")) if "/" in word else word


_Expected = Annotated[_Expect, AfterValidator(lambda item: Expectation(**dict(item)))]
_Checked = Annotated[_Check, AfterValidator(lambda item: EnforcementCheck(**dict(item)))]
_Read = Annotated[_State, AfterValidator(lambda item: StateFile(**dict(item)))]
_Step = Annotated[list[_Text], AfterValidator(_step)]
_FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,60}$")]


class _SetupTable(_Table):
    name: _Name
    title: str = Field(min_length=1, max_length=200)
    lsms: list[_Lsm] = Field(min_length=1, max_length=16)
    cmdline: list[_Word] = Field([], max_length=32)
    needs_config: list[Annotated[str, Field(pattern=r"^[A-Z0-9_]{1,80}$")]] = []
    modules: list[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]] = Field([], max_length=16)
    note: str = Field("", max_length=500)
    image: Annotated[str, Field(max_length=400), AfterValidator(_image)] = ""
    files: Annotated[
        dict[_FileName, _Text], Field(max_length=_MAX_PARTS), AfterValidator(_files)
    ] = {}
    steps: list[_Step] = Field([], max_length=128)
    before: list[_Step] = Field([], max_length=128)
    confine: list[_Pair] = Field([], max_length=4)
    checks: list[_Checked] = Field(
        [], max_length=32, validation_alias=AliasChoices("checks", "proofs")
    )
    states: list[_Read] = Field([], max_length=8)
    counters: list[_Read] = Field([], max_length=8)
    reads: Annotated[dict[_Word, _Path], AfterValidator(lambda found: tuple(found.items()))] = {}
    expect: list[_Expected] = Field([], max_length=64)
    over: str = Field("capability", pattern=r"^([a-z][a-z0-9:=,_+-]{0,199})?$")
    layer: Layer = Field(Layer.POLICY, strict=False)


def _shipped_step(said: dict[str, Any] | list[str], info: ValidationInfo) -> Step:
    """Read a step that may have a title: its one-off cost is reported by it."""
    table: dict[str, Any] = said if isinstance(said, dict) else {"do": said}
    return replace(_step(table["do"], info), title=table.get("title", ""))


def _shipped_files(contents: dict[str, Any]) -> tuple[SetupFile, ...]:
    """Read files by their text, or by where they come from."""
    return tuple(
        SetupFile(name, **({"text": content} if isinstance(content, str) else content))
        for name, content in contents.items()
    )


_Pairs = Annotated[dict[str, str], AfterValidator(lambda found: tuple(found.items()))]
_ShippedSteps = list[Annotated[Any, AfterValidator(_shipped_step)]]


class _ShippedTable(_SetupTable):
    """A setup that comes with lsmeter; what no file of a user's may say is here."""

    name: str
    title: str
    lsms: list[_Lsm] = []
    cmdline: list[str] = []
    note: str = ""
    over: str = "capability"
    layer: Annotated[Any, AfterValidator(lambda word: Layer(word) if word else None)] = Layer.HOOKS
    files: Annotated[dict[str, Any], AfterValidator(_shipped_files)] = {}
    steps: _ShippedSteps = []
    before: _ShippedSteps = []
    states: list[Annotated[Any, AfterValidator(lambda item: StateFile(**item))]] = []
    partial: bool = False
    guest: _Pairs = {}
    host: _Pairs = {}
    profiles: _Pairs = {}
    live: bool = False
    every_call: bool = False
    all_processes: bool = False


def read_setup(path: Path, *, where: str = "--setup") -> Setup:
    """Return the setup that the file describes."""
    data = read_toml(
        path,
        "a setup file",
        hint="lsmeter help own-setups shows one",
        where=where,
        missing="no such setup file",
    )
    return _setup(checked(_SetupTable, data, where=str(path), hint=_HINT, context=path))


def to_setup(data: dict[str, Any], file: Path) -> Setup:
    """Return a setup that comes with lsmeter, from its table in a file."""
    table = checked(_ShippedTable, data, where=f"{file}: {data['name']}", hint="", context=file)
    setup = _setup(table)
    return setup if "lsms" in table.model_fields_set else replace(setup, lsms=None)


def _setup(table: _SetupTable) -> Setup:
    # No collection of a setup can change: what was not given is an empty tuple as well.
    found: dict[str, Any] = dict(table)
    lists = {key: tuple(value) for key, value in table if isinstance(value, (list, dict))}
    mode = {Layer.POLICY: "enforcing", Layer.PERMISSIVE: "permissive"}.get(table.layer, "")
    loaded = [name for name in ("selinux", "apparmor") if name in table.lsms]
    policies = tuple((name, mode) for name in loaded if mode and table.image)
    return Setup(**{**found, **lists}, policies=policies)
