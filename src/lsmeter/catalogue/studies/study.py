# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies that can be reproduced: a folder each, of experiments, printed tables and claims.

`lsmeter help studies` describes the files. Rules are texts here; who works them out reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lsmeter.catalogue.studies import HOME, Published, find_published
from lsmeter.catalogue.studies.shown import Compared, Plot
from lsmeter.core.errors import UsageError
from lsmeter.core.registry import unknown
from lsmeter.core.toml_file import checked, read_toml

STUDY_FILE, CLAIMS_FILE = "study.toml", "claims.toml"
_HINT = "every file and key: lsmeter help studies"
_MAX_PARTS = 40
_QUICK = "quick"
_LEAVE_OUT = "leave_out"
_MADE = {"tables", "missing", "compared", "plots"}  # keys of study.toml that are read further

_Text = Annotated[str, Field(min_length=1, max_length=1000)]
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,79}$")]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,39}$")]
Kind = Literal["absolute", "bound", "count", "direction", "equality", "growth", "order", "ratio"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Claim(_Strict):
    """One thing that a study says, and the rule by which rows bear it out or not.

    part: the run whose places the rule is worked out at; only those of these kernels (series), file
    systems and users, where they are named. cannot says why no row tells, incomparable why rows
    tell something else. read_off: the printed numbers say it, the authors not in words. against
    names claims of the study that exclude this one.
    """

    id: _Name
    claim: _Text
    place: _Text
    kind: Kind
    printed: _Text
    rule: Annotated[str, Field(max_length=4000)] = ""
    part: _Name | Literal[""] = ""
    kernels: list[_Name] = []
    filesystems: list[_Name] = []
    users: list[_Name] = []
    cannot: Annotated[str, Field(max_length=1000)] = ""
    incomparable: Annotated[str, Field(max_length=1000)] = ""
    read_off: bool = False
    against: list[_Name] = []
    refuted_by: Annotated[str, Field(max_length=1000)] = ""
    note: Annotated[str, Field(max_length=1000)] = ""


class _Claims(_Strict):
    claims: Annotated[list[Claim], Field(min_length=1, max_length=500)]


class _Head(_Strict):
    title: _Text
    source: _Text
    url: Annotated[str, Field(max_length=300)] = ""
    note: Annotated[str, Field(max_length=2000)] = ""
    minutes: Annotated[int, Field(ge=0, le=100_000)] = 0
    quick_minutes: Annotated[int, Field(ge=0, le=100_000)] = 0
    tables: list[_Name] = []
    sources: dict[_Name, _Text] = {}
    missing: list[_Text] = []
    lists: dict[_Word, list[str]] = {}
    compared: Annotated[list[Compared], Field(max_length=50)] = []
    plots: Annotated[list[Plot], Field(max_length=50)] = []


@dataclass(frozen=True)
class Study:
    """A study: what it printed, what it claimed, and the experiments that measure the same today.

    parts are experiments as plain data, by name; quick what is laid over each where less is to be
    measured, left_out those that are not measured then. sources are kernel sources by series,
    missing what of the study is not measured here, lists the names that rules may use. compared
    and plots are what its document shows. minutes are about how long it takes on two cores, whole
    and as quick has it, 0 where that is not known.
    """

    name: str
    home: Path
    title: str
    source: str
    url: str
    note: str
    minutes: int
    quick_minutes: int
    tables: tuple[Published, ...]
    sources: Mapping[str, str]
    missing: tuple[str, ...]
    lists: Mapping[str, list[str]]
    parts: Mapping[str, Mapping[str, Any]]
    quick: Mapping[str, Mapping[str, Any]]
    left_out: frozenset[str]
    claims: tuple[Claim, ...]
    compared: tuple[Compared, ...] = ()
    plots: tuple[Plot, ...] = ()

    def where(self, claim: Claim) -> str:
        """Name a claim's rule by its file and key."""
        return f"{self.home / CLAIMS_FILE}: {claim.id}.rule"


def study_names() -> tuple[str, ...]:
    """Return the names of the studies that come with lsmeter."""
    return tuple(sorted(path.parent.name for path in HOME.glob(f"*/{STUDY_FILE}")))


def find_study(word: str) -> Study:
    """Return a study by its name, or that of a folder; UsageError says what is wrong."""
    if "/" in word or word in {".", ".."}:
        return _read(Path(word))
    if word not in study_names():
        raise unknown("study", word, ("all", *study_names()), where="reproduce")
    return _read(HOME / word)


def _read(home: Path) -> Study:
    def read(name: str) -> dict[str, Any]:
        return read_toml(home / name, "a file of a study", hint=_HINT, missing="no such file")

    head = checked(_Head, read(STUDY_FILE), where=str(home / STUDY_FILE), hint=_HINT)
    where = str(home / CLAIMS_FILE)
    claims = checked(_Claims, read(CLAIMS_FILE), where=where, hint=_HINT).claims
    names = sorted(path.stem for path in home.glob("*.toml") if path.is_file())
    parts = {name: read(f"{name}.toml") for name in names[:_MAX_PARTS] if _is_part(name, head)}
    if wrong := next(_off(claims, parts), ""):
        raise UsageError(f"{where}: {wrong}", hint=_HINT)
    if wrong := next(_off_shown(head, parts), ""):
        raise UsageError(f"{home / STUDY_FILE}: {wrong}", hint=_HINT)
    quick = {name: part.pop(_QUICK, {}) for name, part in parts.items()}
    if bad := next((name for name, part in quick.items() if not isinstance(part, dict)), ""):
        raise UsageError(f"{home / bad}.toml: {_QUICK}: expected a table", hint=_HINT)
    left_out = {name: part.pop(_LEAVE_OUT, False) for name, part in quick.items()}
    if bad := next((name for name, word in left_out.items() if not isinstance(word, bool)), ""):
        raise UsageError(f"{home / bad}.toml: {_QUICK}.{_LEAVE_OUT}: true or false", hint=_HINT)
    return Study(
        name=home.resolve().name,
        home=home,
        **{key: value for key, value in head if key not in _MADE},
        missing=tuple(head.missing),
        tables=tuple(_table(home, name) for name in head.tables),
        parts=parts,
        quick=quick,
        left_out=frozenset(name for name, is_out in left_out.items() if is_out),
        claims=tuple(claims),
        compared=tuple(head.compared),
        plots=tuple(head.plots),
    )


def _is_part(name: str, head: _Head) -> bool:
    return f"{name}.toml" not in {STUDY_FILE, CLAIMS_FILE} and name not in head.tables


def _table(home: Path, name: str) -> Published:
    """Return printed values: a file of the folder, or a study's that comes with lsmeter."""
    own = home / f"{name}.toml"
    return find_published(str(own) if own.is_file() else name, f"{home / STUDY_FILE}: tables")


def _off(claims: list[Claim], parts: Mapping[str, object]) -> Iterator[str]:
    """Say what is wrong with claims that have the right keys."""
    known = [item.id for item in claims]
    for number, item in enumerate(claims):
        if item.id in known[:number]:
            yield f"{item.id}: it is there twice"
        said = [bool(item.rule), bool(item.cannot), bool(item.incomparable)]
        if sum(said) != 1:
            yield f"{item.id}: one of rule, cannot and incomparable has to be there"
        if item.rule and item.part not in parts:
            named = f"no part '{item.part}'" if item.part else "missing"
            yield f"{item.id}.part: {named}; there are {', '.join(parts) or 'none'}"
        for other in item.against:
            if other not in known:
                yield f"{item.id}.against: no claim '{other}'"


def _off_shown(head: _Head, parts: Mapping[str, object]) -> Iterator[str]:
    """Say what is wrong with tables and plots that have the right keys."""
    shown = [("compared", item) for item in head.compared] + [("plots", p) for p in head.plots]
    known: list[str] = []
    for key, item in shown:
        if item.id in known:
            yield f"{key}.{item.id}: it is there twice"
        known.append(item.id)
        if item.part not in parts:
            yield f"{key}.{item.id}.part: no part '{item.part}'; there are {', '.join(parts)}"
