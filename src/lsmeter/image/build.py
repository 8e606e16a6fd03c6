# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds images, and gives the path of one by its name: what guests are started from."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from lsmeter.errors import BuildError, InfrastructureError, UsageError
from lsmeter.image import check, ext4, labels, programs
from lsmeter.image.bootstrap import Bootstrap, bootstrap
from lsmeter.image.definition import (
    SUFFIX,
    ImageDefinition,
    definition_names,
    identity,
    load_definition,
)
from lsmeter.image.own import find_own
from lsmeter.image.store import (
    FACTS,
    FILE,
    BuiltImage,
    entry_name,
    find_image,
    images_dir,
    list_images,
    to_json,
)
from lsmeter.image.tree import Node, unpack
from lsmeter.kernels.digest import sha256_of
from lsmeter.policy import Image
from lsmeter.progress import Progress
from lsmeter.registry import unknown
from lsmeter.storage import cannot_write, locked, new_entry, write_atomic

_TASK = "file system"


def build_image(word: str, progress: Progress, *, again: bool = False) -> BuiltImage:
    """Return the image that `word` names (a name, or a definition's path), building it if needed.

    again: build it even if it is there, for newer packages. Raises UsageError for an unknown
    name, BuildError or InfrastructureError when it cannot be built; nothing is kept then.
    """
    definition = load_definition(word)
    programs.need(programs.BUILDS, "images are built and read with it")
    versions = programs.versions()
    key = identity(definition, versions)
    with locked(f"image-{definition.name}"):
        found = None if again else find_image(definition.name, key)
        return found or _build(definition, key, versions, progress)


def built_image(word: str) -> BuiltImage:
    """Return the image that `word` names if it is there; raise UsageError otherwise."""
    own = find_own(word)
    if own is not None:
        return own
    definition = load_definition(word)
    programs.need(programs.BUILDS, "images are built and read with it")
    found = find_image(definition.name, identity(definition, programs.versions()))
    if found is None:
        raise UsageError(
            f"image {definition.name} has not been built, or not as it is defined now",
            hint=f"build it: lsmeter image build {word}",
        )
    return found


def _build(
    definition: ImageDefinition, key: str, versions: dict[str, str], progress: Progress
) -> BuiltImage:
    began = time.monotonic()
    final = images_dir() / entry_name(definition.name, key)
    with new_entry(final) as partial:
        places = Bootstrap(partial)
        try:
            bootstrap(definition, places, progress)
            image = partial / FILE
            packages, labelled = _make(definition, places, image, progress)
            check.require_tools(image, definition.name, definition.tools)
            image.chmod(0o444)
            facts = BuiltImage(
                name=definition.name,
                identity=key,
                title=definition.title,
                content_sha256=sha256_of(image),
                image_bytes=image.stat().st_size,
                used_bytes=image.stat().st_blocks * 512,
                labelled=labelled,
                packages=packages,
                programs=tuple(sorted(versions.items())),
                build_s=round(time.monotonic() - began, 1),
            )
        except BuildError as error:
            error.log_path = _keep_log(places.log, definition.name)
            raise
        for path in (places.archive, places.overlay, places.sources, places.paths, places.contexts):
            path.unlink(missing_ok=True)
        write_atomic(partial / FACTS, to_json(facts))
    return facts


def _make(
    definition: ImageDefinition, places: Bootstrap, image: Path, progress: Progress
) -> tuple[tuple[tuple[str, str], ...], int]:
    """Make the file system of the bootstrap's archive; return its packages, and files labelled."""
    tree, scratch = places.home / "tree", places.home / "scratch"
    try:
        progress.update(f"{_TASK}: unpacking", 0, 3, unit="steps")
        tree.mkdir()
        nodes = unpack(places.archive, tree)
        packages = installed(tree)
        contexts = _contexts(definition, places, nodes)
        progress.update(f"{_TASK}: copying", 1, 3, unit="steps")
        ext4.make_ext4(tree, image, definition.size_mib)
        progress.update(f"{_TASK}: labelling", 2, 3, unit="steps")
        ext4.settle(image, nodes, contexts, scratch)
        write_atomic(places.home / "contexts", labels.listing(contexts))
    finally:
        for step in ("unpacking", "copying", "labelling"):
            progress.finish(f"{_TASK}: {step}")
    _remove(tree)
    _remove(scratch)
    return packages, len(contexts)


def _contexts(
    definition: ImageDefinition, places: Bootstrap, nodes: tuple[Node, ...]
) -> dict[str, str]:
    if not definition.labels:
        return {}
    paths, answer = places.paths.read_bytes(), places.contexts.read_bytes()
    looked_up = labels.parse_lookup(paths, answer)
    asked = frozenset(paths.decode("utf-8", "surrogateescape").split("\0"))
    return labels.for_nodes(nodes, looked_up, asked)


def _remove(tree: Path) -> None:
    # Not shutil: a tree of ten thousand files is gone sooner, and whatever is in it.
    subprocess.run(["rm", "-rf", "--", str(tree)], check=False, timeout=300)
    if tree.exists():
        raise InfrastructureError(f"cannot remove {tree}")


def _keep_log(log: Path, name: str) -> Path | None:
    """Move the log of a failed build out of what is thrown away."""
    kept = images_dir() / f".{name}.failed.log"
    try:
        write_atomic(kept, log.read_bytes())
    except OSError:
        return None
    return kept


def installed(tree: Path) -> tuple[tuple[str, str], ...]:
    """Return name and version of each package that is installed in `tree`, sorted."""
    try:
        text = (tree / "var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise cannot_write(tree, error) from error
    found = []
    for stanza in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in stanza.splitlines()
            if line.startswith(("Package: ", "Version: "))
        )
        if {"Package", "Version"} <= fields.keys():
            found.append((fields["Package"], fields["Version"]))
    return tuple(sorted(found))


def resolve_image(word: str, progress: Progress) -> Image:
    """Return the image that `word` names; build it, showing progress, if it is not there.

    word: the name of an image of lsmeter's or of one that was added, a definition of the
    user's own (`./mine.toml`), or a file system (`./root.ext4`). Raises UsageError for what is
    none of these, BuildError or InfrastructureError when it cannot be built.
    """
    if not word.endswith(SUFFIX):
        if "/" in word:
            return _file(Path(word).expanduser())
        own = find_own(word)
        if own is not None:
            return Image(own.name, own.file, own.content_sha256)
        if word not in definition_names():
            names = {*definition_names(), *(image.name for image in list_images())}
            raise unknown("image", word, names)
    image = build_image(word, progress)
    return Image(image.name, image.file, image.content_sha256)


def _file(path: Path) -> Image:
    if not path.is_file():
        raise UsageError(
            f"image {path}: no such file",
            hint="name an ext4 file system, a definition (.toml), or one of: "
            + ", ".join(definition_names()),
        )
    check.check_filesystem(path)
    return Image(path.name, path.absolute(), sha256_of(path))
