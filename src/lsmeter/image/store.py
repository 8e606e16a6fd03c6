# SPDX-License-Identifier: GPL-2.0-or-later
"""Images in the cache: one directory each, with the file system, its labels and its facts.

An image is never changed once it is there: guests write to an overlay of their own, and another
content has another name.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lsmeter.storage import cache_dir, locked

FACTS = "image.json"
FILE = "image.ext4"
_FORMAT = 1


@dataclass(frozen=True)
class BuiltImage:
    """The facts of one image.

    identity is the hash of what it was built from (its definition, files and programs, or for
    a user's own image its content); content is the hash of the file system itself.
    """

    name: str
    identity: str
    title: str
    content_sha256: str
    image_bytes: int  # as the guest sees it
    used_bytes: int  # on this machine's disk
    labelled: int  # files with an SELinux context
    packages: tuple[tuple[str, str], ...]  # name and version
    programs: tuple[tuple[str, str], ...]
    build_s: float
    format: int = _FORMAT

    @property
    def home(self) -> Path:
        """Return the directory of its files."""
        return images_dir() / entry_name(self.name, self.identity)

    @property
    def file(self) -> Path:
        """Return the file system: read-only, the base of each guest's overlay."""
        return self.home / FILE

    @property
    def contexts(self) -> Path:
        """Return the list of each file's context, as it was looked up: context, tab, path."""
        return self.home / "contexts"


_READER = TypeAdapter(BuiltImage)


def images_dir() -> Path:
    """Return the directory of all images; it may not exist yet."""
    return cache_dir() / "images"


def entry_name(name: str, identity: str) -> str:
    """Return the name of an image's directory."""
    return f"{name}-{identity[:12]}"


def to_json(image: BuiltImage) -> bytes:
    """Write the facts of an image."""
    return _READER.dump_json(image, indent=1) + b"\n"


def to_dict(image: BuiltImage) -> dict[str, Any]:
    """Return the facts of an image as plain data."""
    return dict(_READER.dump_python(image, mode="json"))


def find_image(name: str, identity: str) -> BuiltImage | None:
    """Return the image of this name and identity, None when there is none that is whole."""
    found = _read(images_dir() / entry_name(name, identity))
    return found if found is not None and found.identity == identity else None


def list_images() -> tuple[BuiltImage, ...]:
    """Return all images, sorted by name; a damaged one is passed over."""
    found = [_read(path.parent) for path in sorted(images_dir().glob(f"[!.]*/{FACTS}"))]
    return tuple(image for image in found if image is not None)


def _read(home: Path) -> BuiltImage | None:
    try:
        image = _READER.validate_json((home / FACTS).read_bytes())
        size = (home / FILE).stat().st_size
    except (OSError, ValidationError):
        return None
    whole = image.format == _FORMAT and image.home.name == home.name and size == image.image_bytes
    return image if whole else None


def remove_images(name: str) -> tuple[BuiltImage, ...]:
    """Remove all images called `name`; return what they were."""
    with locked(f"image-{name}"):
        gone = tuple(image for image in list_images() if image.name == name)
        for image in gone:
            shutil.rmtree(image.home, ignore_errors=True)
    return gone
