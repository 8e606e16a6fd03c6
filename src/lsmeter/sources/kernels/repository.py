# SPDX-License-Identifier: GPL-2.0-or-later
"""Repositories of RPM packages: what their metadata offers, and their files, checked by digest.

A repository is a directory or an address with repodata/repomd.xml, which names the list of
packages ("primary") and its SHA-256; the list has the SHA-256 of each package. Sizes that the
metadata states bound what is read.
"""

from __future__ import annotations

import hashlib
import io
import ipaddress
import re
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast
from urllib.parse import quote, urlsplit
from xml.parsers import expat

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.progress import Progress, shown
from lsmeter.core.storage import writing
from lsmeter.sources.kernels.vmlinux import DamagedError, packing_of, unpack

INDEX = "repodata/repomd.xml"
_MOST_INDEX_BYTES = 1 << 20
_MOST_LIST_BYTES = 64 << 20  # packed; Fedora's is about 20 MiB
_MOST_TEXT_BYTES = 1 << 30
_MOST_PACKAGE_BYTES = 512 << 20
_MOST_DEPTH = 16
_PIECE_BYTES = 1 << 16
_SILENCE_S = 60.0
_WORD = re.compile(r"[A-Za-z0-9._+~^-]{1,80}")
_LAST = True
_NUMBER = re.compile(r"\d{1,15}")
_HINT = "is it a repository, and whole? createrepo_c makes one"


@dataclass(frozen=True)
class Offered:
    """A package that a repository offers."""

    name: str
    arch: str
    version: str  # VERSION-RELEASE, as in its file name
    built_s: int
    size_bytes: int
    sha256: str
    path: str  # below the repository


@dataclass(frozen=True)
class Repository:
    """A repository by its address (https:, or http: of this machine) or its directory."""

    place: str

    def __post_init__(self) -> None:
        """Refuse an address whose answers anybody on the way could change."""
        address = urlsplit(self.place)
        if address.scheme in {"", "https"} or _is_loopback(address.hostname or ""):
            return
        raise UsageError(
            f"kernel rpm:{self.place}: a repository needs https: its metadata has no signature "
            "that is checked",
            hint="fetch it, and give the directory",
        )

    @property
    def remote(self) -> bool:
        """Whether it is asked over a network."""
        return bool(urlsplit(self.place).scheme)

    def packages(self, wanted: Callable[[str], bool], progress: Progress) -> tuple[Offered, ...]:
        """Return the packages whose names are wanted."""
        listed = _elements(self._read(INDEX, _MOST_INDEX_BYTES), "data", f"{self.place}/{INDEX}")
        primary = next((item for item in listed if item[""].get("type") == "primary"), {})
        path, sha256 = _said(primary, "location", "href"), _sha256(primary)
        if not sha256:
            raise UsageError(f"{self.place}/{INDEX} names no list of packages", hint=_HINT)
        with shown(progress, f"read the packages of {self.place}"):
            packed, where = self._read(path, _MOST_LIST_BYTES), f"{self.place}/{path}"
            if hashlib.sha256(packed).hexdigest() != sha256:
                raise UsageError(f"{where} is not what {INDEX} says", hint=_HINT)
            found = _elements(packed, "package", where, lambda item: wanted(_said(item, "name")))
        return tuple(filter(None, map(_offered, found)))

    def fetch(self, item: Offered, into: Path, progress: Progress) -> Path:
        """Copy a package into a directory; UsageError if it is not what the list says."""
        path = into / f"{item.name}-{item.version}.{item.arch}.rpm"
        if not 0 < item.size_bytes <= _MOST_PACKAGE_BYTES:
            raise UsageError(f"{self.place}: {path.name} of {item.size_bytes} bytes is no kernel's")
        digest, done = hashlib.sha256(), 0
        with (
            shown(progress, f"fetch {path.name}", item.size_bytes, "B") as show,
            self._opened(item.path) as source,
            writing(path),
            path.open("wb") as target,
        ):
            while piece := source.read(min(_PIECE_BYTES, item.size_bytes + 1 - done)):
                digest.update(piece)
                target.write(piece)
                done += len(piece)
                show(done)
        if (done, digest.hexdigest()) != (item.size_bytes, item.sha256):
            raise UsageError(f"{self.place}: {path.name} is not what its list says", hint=_HINT)
        return path

    def _read(self, path: str, limit_bytes: int) -> bytes:
        with self._opened(path) as source:
            data = source.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise UsageError(f"{self.place}/{path} is larger than {limit_bytes} bytes", hint=_HINT)
        return data

    @contextmanager
    def _opened(self, path: str) -> Iterator[IO[bytes]]:
        """Open a file of the repository; its path is another's, and may not lead out."""
        inside = PurePosixPath(path)
        if not path or inside.is_absolute() or ".." in inside.parts:
            raise UsageError(f"{self.place}: the path '{path[:80]}' leads out of the repository")
        try:
            if not self.remote:
                with (Path(self.place) / inside).open("rb") as file:
                    yield file
                return
            address = f"{self.place}/{quote(str(inside))}"
            answer = _OPENER.open(address, timeout=_SILENCE_S)
            with closing(answer):
                yield answer
        except (OSError, ValueError, HTTPException) as error:
            said = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            raise InfrastructureError(f"{self.place}/{path}: {said}", hint=_HINT) from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows a redirection only to https."""

    def redirect_request(self, *words: object) -> urllib.request.Request | None:
        """Return the new request; InfrastructureError for an address without TLS."""
        if urlsplit(str(words[-1])).scheme != "https":
            raise InfrastructureError(f"{words[-1]}: a redirection away from https")
        return super().redirect_request(*words)  # type: ignore[arg-type]


_OPENER = urllib.request.build_opener(_NoRedirect())


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# The direct children of an element by name: their attributes, and their text as "".
_Element = dict[str, dict[str, str]]


class _Reader:
    """Takes XML in pieces, and keeps the elements of one name that are wanted.

    Neither a document type nor entities have a place in metadata.
    """

    def __init__(self, of: str, wanted: Callable[[_Element], bool]) -> None:
        self.found: list[_Element] = []
        self._of, self._wanted = of, wanted
        self._names: list[str] = []
        self._element: _Element = {}
        self._text: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append

    def write(self, data: bytes) -> int:
        """Read a piece."""
        self._parser.Parse(data)
        return len(data)

    def end(self) -> list[_Element]:
        """Return what was found, when all is read."""
        self._parser.Parse(b"", _LAST)
        return self.found

    def _refuse(self, *_: object) -> None:
        raise DamagedError("it declares a document type")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._names) == _MOST_DEPTH:
            raise DamagedError("its elements are too deep")
        if name == self._of:
            self._element = {"": attributes}
        elif self._names[-1:] == [self._of]:
            self._element[name] = attributes
        self._names.append(name)
        self._text.clear()

    def _end(self, name: str) -> None:
        self._names.pop()
        if name == self._of and self._wanted(self._element):
            self.found.append(self._element)
        elif self._names[-1:] == [self._of]:
            self._element.setdefault(name, {})[""] = "".join(self._text).strip()


def _elements(
    packed: bytes, of: str, where: str, wanted: Callable[[_Element], bool] = bool
) -> list[_Element]:
    """Return the elements of a name in XML that may be packed; UsageError where it is damaged."""
    reader = _Reader(of, wanted)
    try:
        if packing := packing_of(packed[:16]):
            unpack(
                packing, io.BytesIO(packed), cast("BinaryIO", reader), limit_bytes=_MOST_TEXT_BYTES
            )
        else:
            reader.write(packed)
        return reader.end()
    except (expat.ExpatError, LookupError, ValueError) as error:  # an encoding of no name
        raise UsageError(f"{where}: damaged metadata: {error}", hint=_HINT) from error


def _said(element: _Element, child: str, key: str = "") -> str:
    return element.get(child, {}).get(key, "")


def _sha256(element: _Element) -> str:
    """Return the SHA-256 that metadata states, "" for none."""
    text = _said(element, "checksum")
    right = _said(element, "checksum", "type") == "sha256" and re.fullmatch("[0-9a-f]{64}", text)
    return text if right else ""


def _offered(element: _Element) -> Offered | None:
    """Return a package; None for one that a file cannot be named by, or that cannot be checked."""
    words = [_said(element, "name"), _said(element, "arch")]
    words += [_said(element, "version", "ver"), _said(element, "version", "rel")]
    numbers = [_said(element, "time", "build"), _said(element, "size", "package")]
    sha256 = _sha256(element)
    if not (sha256 and all(map(_WORD.fullmatch, words)) and all(map(_NUMBER.fullmatch, numbers))):
        return None
    name, arch, version, release = words
    built_s, size_bytes = map(int, numbers)
    path = _said(element, "location", "href")
    return Offered(name, arch, f"{version}-{release}", built_s, size_bytes, sha256, path)
