# SPDX-License-Identifier: GPL-2.0-or-later
"""Images in the cache, built when they are needed: what guests are started from.

Each has a directory with the file system, its labels and its facts. It is never changed once it
is there: guests write to an overlay of their own, and another content has another name.
"""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from debian.deb822 import Deb822

from lsmeter.core import process
from lsmeter.core.entries import Entries, new_entry
from lsmeter.core.errors import BuildError, UsageError
from lsmeter.core.model import Image
from lsmeter.core.model.arch import X86_64, Arch, arch_of_host
from lsmeter.core.progress import Progress
from lsmeter.core.registry import unknown
from lsmeter.core.storage import known_sha256, locked, make_dir, prove, sha256_of, write_atomic
from lsmeter.sources.images import ext4
from lsmeter.sources.images.bootstrap import COPY, LABEL, UNPACK, Bootstrap, Steps, bootstrap
from lsmeter.sources.images.definition import (
    BUILDS,
    SUFFIX,
    ImageDefinition,
    definition_names,
    identity,
    load_definition,
    versions,
)

FILE = "image.ext4"
_ADDED = "added: "  # how the title of a user's own image begins
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,49}")
_SPARE_MIB = 128
_NONE = Path("IMAGE")  # what a plan calls one that is to be built


def _home(name: str, identity: str) -> Path:
    return IMAGES.home / f"{name}-{identity[:12]}"


@dataclass(frozen=True)
class BuiltImage:
    """The facts of one image; identity hashes what it was made of, content the file system."""

    name: str
    identity: str
    title: str
    content_sha256: str
    image_bytes: int  # as the guest sees it
    used_bytes: int  # on this machine's disk
    labelled: int = 0  # files with an SELinux context
    packages: tuple[tuple[str, str], ...] = ()  # name and version
    programs: tuple[tuple[str, str], ...] = ()
    build_s: float = 0.0
    arch: str = X86_64.name
    format: Literal[1] = 1

    @property
    def home(self) -> Path:
        """Return the directory of its files."""
        return _home(self.name, self.identity)

    @property
    def file(self) -> Path:
        """Return the file system: read-only, the base of each guest's overlay."""
        return self.home / FILE


def _whole(image: BuiltImage, home: Path) -> bool:
    return image.home.name == home.name and image.file.stat().st_size == image.image_bytes


IMAGES = Entries("images", "image.json", BuiltImage, _whole)


def describe(image: Path, name: str, title: str, began: float) -> BuiltImage:
    """Make a finished file system read-only; return its facts. began: by time.monotonic."""
    image.chmod(0o444)
    content, status = sha256_of(image), image.stat()
    return BuiltImage(
        name=name,
        identity=content,
        title=title,
        content_sha256=content,
        image_bytes=status.st_size,
        used_bytes=status.st_blocks * 512,
        build_s=round(time.monotonic() - began, 1),
    )


def _called(name: str) -> tuple[BuiltImage, ...]:
    return tuple(image for image in IMAGES.all() if image.name == name)


def _own(name: str) -> BuiltImage | None:
    """Return the image that was added under `name`, None when there is none."""
    return next((image for image in _called(name) if image.title.startswith(_ADDED)), None)


def remove_images(name: str) -> tuple[BuiltImage, ...]:
    """Remove all images called `name`; return what they were."""
    with locked(f"image-{name}"):
        gone = _called(name)
        for image in gone:
            shutil.rmtree(image.home, ignore_errors=True)
    return gone


def add_image(source: Path, name: str) -> BuiltImage:
    """Copy the file system or directory `source` into the cache under `name`.

    A directory becomes an ext4 with its files' owners and extended attributes, as far as this user
    may read them. An earlier image of that name is replaced.
    """
    process.need(BUILDS, "images are made and read with it")
    _check_name(name)
    if not source.is_dir():
        if not source.is_file():
            raise UsageError(f"image {source}: no such file or directory")
        ext4.check_filesystem(source)
    began = time.monotonic()
    with locked(f"image-{name}"):
        # The identity is the content's, which is known only when the copy is there.
        with new_entry(IMAGES.home / f"{name}-adding") as partial:
            image = partial / FILE
            if source.is_dir():
                used_kib = int(process.output(["du", "-sk", "--", str(source)]).split()[0])
                ext4.make_ext4(source, image, used_kib * 5 // 4 // 1024 + _SPARE_MIB)
            else:
                process.output(["cp", "--sparse=always", "--", str(source), str(image)])
            facts = describe(image, name, f"{_ADDED}{source.absolute()}", began)
            IMAGES.write(partial, facts)
        for earlier in _called(name):
            shutil.rmtree(earlier.home, ignore_errors=True)
        (IMAGES.home / f"{name}-adding").replace(facts.home)
    return facts


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name[:100]}' cannot name an image",
            hint="small letters, digits, '.' and '-', at most 50: --name my-policy",
        )
    if name in definition_names():
        raise UsageError(
            f"'{name}' is the name of an image of lsmeter's own", hint="take another: --name"
        )


def build_image(
    word: str, progress: Progress, arch: Arch = X86_64, *, again: bool = False
) -> BuiltImage:
    """Return the image that `word` names, building it if needed; again: build it in any case."""
    definition = load_definition(word)
    key = identity(definition, versions(), arch)
    with locked(f"image-{definition.name}"):
        found = None if again else IMAGES.read(_home(definition.name, key))
        if found and known_sha256(found.file) == found.content_sha256:
            return found
        return _build(definition, arch, key, progress)


def built_image(word: str, arch: Arch = X86_64) -> BuiltImage:
    """Return the image that `word` names if it is there; raise UsageError otherwise."""
    found = _own(word) or _defined(word, arch)
    if found is None:
        raise UsageError(
            f"image {word} has not been built, or not as it is defined now",
            hint=f"build it: {_command(word, arch)}",
        )
    return found


def _command(word: str, arch: Arch) -> str:
    """Return the command that builds an image."""
    of = f" --arch {arch.name}" if arch is not arch_of_host() else ""
    return f"lsmeter image build {word}{of}"


def _build(definition: ImageDefinition, arch: Arch, key: str, progress: Progress) -> BuiltImage:
    began = time.monotonic()
    name = definition.name
    with new_entry(_home(name, key)) as partial:
        places, steps = Bootstrap(make_dir(partial / "work")), Steps(name, progress)
        try:
            bootstrap(definition, arch, places, steps)
            packages, contexts = _make(definition, places, partial / FILE, steps)
            ext4.require_tools(partial / FILE, name, definition.tools)
            # Not shutil: a tree of ten thousand files is gone sooner, and whatever is in it.
            process.output(["rm", "-rf", "--", str(places.home)])
        except BuildError as error:
            error.log_path = _keep_log(places.log, name)
            raise
        finally:
            steps.end()
        write_atomic(partial / "contexts", ext4.listing(contexts))
        facts = replace(
            describe(partial / FILE, name, definition.title, began),
            identity=key,
            labelled=len(contexts),
            packages=packages,
            programs=tuple(sorted(versions().items())),
            arch=arch.name,
        )
        IMAGES.write(partial, facts)
    return facts


def _make(
    definition: ImageDefinition, places: Bootstrap, image: Path, steps: Steps
) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    """Make the file system of the bootstrap's archive; return its packages and its labels."""
    tree, contexts = make_dir(places.home / "tree"), {}
    steps.begin(UNPACK)
    nodes = ext4.unpack(places.archive, tree)
    if definition.labels:
        looked_up = (places.paths.read_bytes(), places.contexts.read_bytes())
        contexts = ext4.labels_of(nodes, *looked_up)
    steps.begin(COPY)
    ext4.make_ext4(tree, image, definition.size_mib)
    steps.begin(LABEL)
    ext4.settle(image, nodes, contexts, places.home / "values")
    return _installed(tree), contexts


def _keep_log(log: Path, name: str) -> Path | None:
    """Move the log of a failed build out of what is thrown away."""
    kept = IMAGES.home / f"{name}.failed.log"
    try:
        write_atomic(kept, log.read_bytes())
    except OSError:
        return None
    return kept


def _installed(tree: Path) -> tuple[tuple[str, str], ...]:
    """Return name and version of each package that is installed in `tree`, sorted."""
    status = tree / "var/lib/dpkg/status"
    text = status.read_text(encoding="utf-8", errors="replace") if status.is_file() else ""
    lines = text.splitlines()  # one string may be taken for a file's name
    stanzas = Deb822.iter_paragraphs(lines, fields=["Package", "Version"], use_apt_pkg=False)
    whole = (stanza for stanza in stanzas if len(stanza) == 2)
    return tuple(sorted((stanza["Package"], stanza["Version"]) for stanza in whole))


def resolve_image(
    word: str, progress: Progress, arch: Arch = X86_64, *, build: bool = True
) -> Image:
    """Return the image that `word` names; build it, showing progress, if it is not there.

    Without build, the image is only for a plan: as it is, or without a digest if it is not there.
    word: the name of an image of lsmeter's or of one that was added, a definition of the user's own
    (`./mine.toml`), or a file system (`./root.ext4`).
    """
    if not word.endswith(SUFFIX):
        if "/" in word:
            return _file(Path(word).expanduser())
        if word not in definition_names() and not _own(word):
            names = {*definition_names(), *(image.name for image in IMAGES.all())}
            raise unknown("image", word, names)
    own = _own(word)
    image = own or _defined(word, arch)
    if not build:
        return Image(word, image.file, image.content_sha256) if image else Image(word, _NONE, "")
    image = image or build_image(word, progress, arch)
    what = f"add it again: lsmeter image add {image.title.removeprefix(_ADDED)} --name {word}"
    prove(
        image.file,
        image.content_sha256,
        what if own else f"build it again: {_command(word, arch)}",
    )
    return Image(image.name, image.file, image.content_sha256)


def _defined(word: str, arch: Arch) -> BuiltImage | None:
    """Return the image of a definition as it is now, None when it has not been built."""
    definition = load_definition(word)
    return IMAGES.read(_home(definition.name, identity(definition, versions(), arch)))


def _file(path: Path) -> Image:
    if not path.is_file():
        names = ", ".join(definition_names())
        raise UsageError(
            f"image {path}: no such file",
            hint=f"name an ext4 file system, a definition (.toml), or one of: {names}",
        )
    ext4.check_filesystem(path)
    return Image(path.name, path.absolute(), known_sha256(path))
