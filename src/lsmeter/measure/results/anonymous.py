# SPDX-License-Identifier: GPL-2.0-or-later
"""A run without what says who made it and where: files, paths, hosts, users, machines and boots.

Each of them becomes a name that stands for it in the whole run, so that what differed still does.
`lsmeter help results-format` lists what is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from lsmeter.core.model import Boot, Problem
from lsmeter.guest.request import Request
from lsmeter.measure.results.boots import (
    OUTPUT_SUFFIX,
    read_boot,
    read_output,
    with_readings,
    write_boot,
    write_foreign,
)
from lsmeter.measure.results.directory import RunData, boot_folder, write_manifest
from lsmeter.measure.results.documents import texts_of
from lsmeter.measure.results.manifest import Manifest

T = TypeVar("T")

_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I)
_SSH = re.compile(r"\bssh:(?!//)(?:[\w.-]+@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)")
# Consoles may be of one letter: what cannot match is looked at once, and not from each place in it.
_LOGIN = re.compile(r"[\w.+-]++(?:@([\w-][\w.-]*))?")
_QUOTED_PATH = re.compile(r"""(?<=['"])~?/[^'"/\n]*+/[^'"\n]*+(?=['"])""")
_PATH = re.compile(r"(?<![\w./<])(?:~[\w.-]*|\.{1,2})?/[\w.+@%:~-]+(?:/[\w.+@%:~-]*)*")
# Of every machine and guest alike, or where guests find what is theirs.
_COMMON = {*("bin", "sbin", "lib", "lib64", "usr", "etc", "proc", "sys", "dev", "boot")} | {
    *("setup", "data", "outside", "rules"),
}
_FACTS = re.compile(r"(?:host\.(?:after\.)?)?(boot_id|machine)")


@dataclass
class _Names:
    """What stands for each thing that is left out, by kind."""

    given: dict[tuple[str, str], str] = field(default_factory=dict)
    count: Counter[str] = field(default_factory=Counter)  # of those of a kind
    hosts: set[str] = field(default_factory=set)
    secrets: dict[str, str] = field(default_factory=dict)  # whole texts, with their kind
    homes: set[str] = field(default_factory=set)  # directories whose names have blanks in them

    def name(self, kind: str, thing: str) -> str:
        if (kind, thing) not in self.given:
            self.count[kind] += 1
            self.given[kind, thing] = f"{kind}-{self.count[kind]}"
        return self.given[kind, thing]

    def host(self, name: str) -> str:
        return self.name("host", name.strip("[]").lower())

    def learn(self, texts: Iterable[str], facts: Iterable[tuple[str, str]]) -> None:
        """Take note of hosts that were measured, and of what names machines and boots."""
        for text in texts:
            self.hosts.update(found[1].strip("[]") for found in _SSH.finditer(text))
            self.learn_paths(found[0] for found in _QUOTED_PATH.finditer(text))
        for key, value in facts:
            if (kind := _FACTS.fullmatch(key)) and len(value) > 7:
                self.secrets[value] = kind[1].removesuffix("_id")

    def learn_paths(self, paths: Iterable[str]) -> None:
        """Take note of paths, as far as their names would not be taken for one path."""
        for path in map(Path, paths):
            self.homes.update(str(item) for item in (path, *path.parents) if " " in str(item))

    def hide(self, text: str) -> str:
        """Return a text with names in the place of what is left out."""
        for home in sorted(self.homes, key=len, reverse=True) if "/" in text else ():
            text = re.sub(rf"{re.escape(home)}(/[\w.+@%~/-]+)?", self._path, text)
        for secret, kind in self.secrets.items():
            text = text.replace(secret, self.name(kind, secret)) if secret in text else text
        text = _UUID.sub(lambda found: self.name("id", found[0].lower()), text)
        text = _SSH.sub(lambda found: f"ssh:{self.host(found[1])}", text)
        if "@" in text:
            text = _LOGIN.sub(lambda found: self.host(found[1]) if found[1] else found[0], text)
        if " " in text:  # words for people: what ssh says of a host
            for host in self.hosts:
                bare = rf"(?<![\w.-]){re.escape(host)}(?![\w-])"
                text = re.sub(bare, lambda _, name=host: self.host(name), text)  # type: ignore[misc]
        text = _QUOTED_PATH.sub(self._path, text)
        return _PATH.sub(self._path, text)

    def _path(self, found: re.Match[str]) -> str:
        path = found[0].rstrip(":.")
        parts = path.strip("/").split("/")
        if path.startswith("/") and (len(parts) == 1 or parts[0] in _COMMON):
            return found[0]
        return self.name("path", path) + found[0][len(path) :]

    def value(self, value: Any) -> Any:
        """Return JSON with every text hidden; keys stay."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list) else value

    def model(self, kind: type[T], value: T) -> T:
        """Return a value of a frozen type with every text hidden."""
        adapter = TypeAdapter(kind)
        return adapter.validate_python(self.value(adapter.dump_python(value, mode="json")))

    def boot(self, boot: Boot) -> Boot:
        """Return a boot; its readings and its windows are numbers."""
        light = tuple(with_readings(item, (), ()) for item in boot.samples)
        hidden = self.model(Boot, replace(boot, samples=light))
        samples = (
            with_readings(item, own.values, own.whole.rounds if own.whole else ())
            for item, own in zip(hidden.samples, boot.samples, strict=True)
        )
        return replace(hidden, samples=tuple(samples))

    def data(self, data: bytes) -> bytes:
        """Return the bytes of a text."""
        return self.hide(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def anonymous(run: RunData) -> RunData:
    """Return a run as it may be shown to anybody; what reads its files still finds them."""
    names = _names_of(run)
    return replace(
        run,
        manifest=_manifest(run.manifest, names),
        boots=tuple(map(names.boot, run.boots)),
        notes=tuple(map(names.hide, run.notes)),
        damaged=names.model(tuple[Problem, ...], run.damaged),
        once={cell: tuple(map(names.hide, texts)) for cell, texts in run.once.items()},
        shown=names.hide(run.title),
    )


def write_anonymous(run: RunData, home: Path) -> int:
    """Write a run into an empty directory as it may be handed on.

    Returns of how many boots the raw results had to be left out: these carry checksums, and say
    what is left out. Such a boot is stored as it was read.
    """
    names, without = _names_of(run), 0
    write_manifest(home, _manifest(run.manifest, names))
    for boot in run.boots:
        folder, target = run.folder(boot), boot_folder(home, boot)
        stored = read_boot(folder, boot)
        outputs = {
            name.removesuffix(OUTPUT_SUFFIX): read_output(folder, name.removesuffix(OUTPUT_SUFFIX))
            for name in stored.files
            if name.endswith(OUTPUT_SUFFIX) and name != "results.zst"
        }
        kept = {name: data for name, data in outputs.items() if data is not None}
        said = stored.capture
        request = stored.request
        if said is None or request is None or names.data(said.results) != said.results:
            without += 1
            write_foreign(target, names.boot(boot), b"", kept)
            continue
        capture = replace(
            said,
            console=names.data(said.console),
            stderr=names.hide(said.stderr),
            outputs=kept,
            facts={key: names.hide(value) for key, value in said.facts.items()},
        )
        write_boot(target, names.boot(boot), capture, names.model(Request, request))
    return without


def _names_of(run: RunData) -> _Names:
    names = _Names()
    texts = texts_of(TypeAdapter(Manifest).dump_python(run.manifest, mode="json"))
    facts = [pair for boot in run.boots for pair in boot.facts]
    names.learn_paths(map(str, (run.path.absolute(), Path.home())))
    names.learn(texts, [*run.manifest.tools, *facts])
    return names


def _manifest(manifest: Manifest, names: _Names) -> Manifest:
    setups = tuple(
        replace(item, files=tuple(replace(file, text="", base64="") for file in item.files))
        for item in manifest.setups
    )
    return names.model(Manifest, replace(manifest, setups=setups))
