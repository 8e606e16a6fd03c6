# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of the user's own: a file system or a directory, copied into the cache once."""

from __future__ import annotations

import re
import time
from pathlib import Path

from lsmeter.errors import UsageError
from lsmeter.image import check, ext4, programs
from lsmeter.image.definition import definition_names
from lsmeter.image.store import (
    FACTS,
    FILE,
    BuiltImage,
    entry_name,
    images_dir,
    list_images,
    to_json,
)
from lsmeter.kernels.digest import sha256_of
from lsmeter.storage import locked, new_entry, write_atomic

ORIGIN = "added: "
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,49}")
_SPARE_MIB = 128


def add_image(source: Path, name: str) -> BuiltImage:
    """Copy the file system or directory `source` into the cache under `name`.

    A directory becomes an ext4 with its files' owners and extended attributes, as far as this
    user may read them. An earlier image of that name is replaced. Raises UsageError for what
    cannot be an image.
    """
    programs.need(programs.BUILDS, "images are made and read with it")
    _check_name(name)
    if not source.is_dir():
        if not source.is_file():
            raise UsageError(f"image {source}: no such file or directory")
        check.check_filesystem(source)
    began = time.monotonic()
    with locked(f"image-{name}"):
        # The identity is the content's, which is known only when the copy is there.
        with new_entry(images_dir() / f"{name}-adding") as partial:
            image = partial / FILE
            if source.is_dir():
                ext4.make_ext4(source, image, _size_mib(source))
            else:
                programs.run(["cp", "--sparse=always", "--", str(source), str(image)])
            image.chmod(0o444)
            facts = _facts(name, source, image, time.monotonic() - began)
            write_atomic(partial / FACTS, to_json(facts))
        final = images_dir() / entry_name(name, facts.identity)
        _replace(name, images_dir() / f"{name}-adding", final)
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


def _size_mib(tree: Path) -> int:
    used = programs.run(["du", "-sk", "--", str(tree)]).split()[0]
    return int(used) * 5 // 4 // 1024 + _SPARE_MIB


def _facts(name: str, source: Path, image: Path, seconds: float) -> BuiltImage:
    content = sha256_of(image)
    status = image.stat()
    return BuiltImage(
        name=name,
        identity=content,
        title=f"{ORIGIN}{source.absolute()}",
        content_sha256=content,
        image_bytes=status.st_size,
        used_bytes=status.st_blocks * 512,
        labelled=0,
        packages=(),
        programs=(),
        build_s=round(seconds, 1),
    )


def _replace(name: str, made: Path, final: Path) -> None:
    import shutil  # noqa: PLC0415

    for image in list_images():
        if image.name == name and image.home != final:
            shutil.rmtree(image.home, ignore_errors=True)
    shutil.rmtree(final, ignore_errors=True)
    made.replace(final)


def find_own(name: str) -> BuiltImage | None:
    """Return the image that was added under `name`, None when there is none."""
    for image in list_images():
        if image.name == name and image.title.startswith(ORIGIN):
            return image
    return None
