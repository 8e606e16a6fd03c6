# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter image`: root file systems with real policies, for setups that need one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.names import offer
from lsmeter.cli.options import argument, declared
from lsmeter.cli.show import deliver, listed, show
from lsmeter.core.model.arch import Arch, arch_of_host, find_arch
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Shown

if TYPE_CHECKING:
    from lsmeter.sources.images.build import BuiltImage

HELP = """Build guest images with real policies and their tools.

They are root file systems of Debian. A setup that enforces a policy starts its guests from an
image. `lsmeter run` builds it when it is first needed; `lsmeter image build` does so ahead of
time. Guests never change an image: each writes to an overlay of its own, which is thrown away.

Root is not needed where user namespaces are allowed.
"""

Name = Annotated[
    str, argument("NAME", "An image, or a definition of your own (`./mine.toml`).", offer("images"))
]


ArchName = Annotated[str | None, declared("image-build.arch")]


def build(
    name: Name = "policy",
    *,
    arch: ArchName = None,
    fresh: Annotated[bool, declared("image-build.fresh")] = False,
) -> None:
    """Build an image and print its path.

    What is unchanged is not built again: an image is known by the hash of its definition, of
    the files that go into it, and of the programs that build it. Packages are fetched from
    where this machine's own apt gets Debian's, and kept.

    A build that fails or is stopped leaves nothing behind.
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.sources.images.build import build_image

    with LiveTasks(SCREEN.err) as tasks:
        image = build_image(name, tasks, _arch(arch), again=fresh)
    mib = image.used_bytes >> 20
    SCREEN.say(
        f"{image.name}: {len(image.packages)} packages, {image.labelled} labelled files, "
        f"{mib} MiB, built in {image.build_s:.0f} s"
    )
    deliver(str(image.file))


def add(
    source: Annotated[Path, argument("SOURCE", "An ext4 file system, or a directory.")],
    name: Annotated[str | None, declared("image-add.name")] = None,
) -> None:
    """Copy an image of your own into the cache, and print its path.

    Labels are kept as they are. Where it lacks a tool or a policy that a setup needs, the boot
    ends with its name and gives no numbers. To use a file without a copy of it, name its
    path where an image is asked for (`./root.ext4`).
    """
    from lsmeter.sources.images.build import add_image

    image = add_image(source.expanduser(), name or source.absolute().stem.lower())
    SCREEN.say(f"added {image.name}: {image.used_bytes >> 20} MiB")
    deliver(str(image.file))


def list_images() -> None:
    """List images: those that were built or added, and those that can be built."""
    from lsmeter.sources.images.build import IMAGES
    from lsmeter.sources.images.definition import definition_names, load_definition

    definitions = [load_definition(name) for name in definition_names()]
    titles = {definition.name: definition.title for definition in definitions}
    show(images_document(IMAGES.all(), titles))


def images_document(images: Sequence[BuiltImage], definitions: Mapping[str, str]) -> Document:
    """Make the list of images; definitions: name and title of those that can be built; pure."""
    fields = (
        named("name"),
        named("identity", lambda image: Shown(image.identity, image.identity[:12])),
        named("arch"),
        Field("used_mib", "MiB", lambda image: image.used_bytes >> 20),
        Field("labelled_files", "labelled", "labelled"),
        Field("build_s", "built in s", lambda image: Shown(image.build_s, f"{image.build_s:.0f}")),
        Field("title", "title", kind=Kind.PROSE),
    )
    table = tabled("images", "", fields, images)
    built, missing = {image.name for image in images}, Shown(None, "(not built)")
    others = (
        (name, missing, None, None, None, None, title)
        for name, title in definitions.items()
        if name not in built
    )
    data = {"images": [{**asdict(image), "path": str(image.file)} for image in images]}
    table = replace(table, rows=(*table.rows, *others))
    return listed("lsmeter-image-list", "Images", table, data=data)


def path(name: Name = "policy", *, arch: ArchName = None) -> None:
    """Print the path of an image that is there already; nothing is built.

    The labels that its files have are listed beside it, in `contexts`.
    """
    from lsmeter.sources.images.build import built_image

    deliver(str(built_image(name, _arch(arch)).file))


def _arch(name: str | None) -> Arch:
    return find_arch(name, where="--arch") if name else arch_of_host()


def remove(
    name: Annotated[str, argument("NAME", "As `lsmeter image list` has it.", offer("images"))],
) -> None:
    """Remove an image, of every identity that it was built with."""
    from lsmeter.core.errors import UsageError
    from lsmeter.core.registry import unknown
    from lsmeter.sources.images import build as store

    images = store.IMAGES.all()
    if not images:
        raise UsageError("there is no image to remove", hint="see: lsmeter image list")
    if name not in {image.name for image in images}:
        raise unknown("image", name, {image.name for image in images})
    for image in store.remove_images(name):
        SCREEN.say(f"removed {image.name} ({image.identity[:12]})")
