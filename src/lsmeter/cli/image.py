# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter image`: root file systems with real policies, for setups that need one."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import LiveTasks

app = typer.Typer(
    name="image",
    no_args_is_help=True,
    help="""Build guest images: Debian root file systems with real policies and their tools.

    A setup that enforces a policy starts its guests from an image. `lsmeter run` builds it when
    it is first needed; `lsmeter image build` does so ahead of time. Guests never change an
    image: each writes to an overlay of its own, which is thrown away.

    Root is not needed where user namespaces are allowed.
    """,
)

Name = Annotated[
    str,
    typer.Argument(
        help="An image's name, or the definition of one of your own (`./mine.toml`).",
    ),
]


class ListFormat(StrEnum):
    """How to show the list."""

    TABLE = "table"
    JSON = "json"


def add_to(parent: typer.Typer) -> None:
    """Add the command and its sub-commands."""
    parent.add_typer(app)


@app.command("build")
def build(
    name: Name = "policy",
    *,
    again: Annotated[
        bool, typer.Option("--again", help="Build it anew, with the archive's packages of today.")
    ] = False,
) -> None:
    """Build an image and print its path.

    What is unchanged is not built again: an image is known by the hash of its definition, of
    the files that go into it, and of the programs that build it. Packages are fetched from
    where this machine's own apt gets Debian's, and kept.

    A build that fails or is stopped leaves nothing behind.
    """
    from lsmeter.image.build import build_image

    with LiveTasks(SCREEN.err) as tasks:
        image = build_image(name, tasks, again=again)
    mib = image.used_bytes >> 20
    SCREEN.say(
        f"{image.name}: {len(image.packages)} packages, {image.labelled} labelled files, "
        f"{mib} MiB, built in {image.build_s:.0f} s"
    )
    SCREEN.out.print(escape(str(image.file)), soft_wrap=True)


@app.command("add")
def add(
    source: Annotated[
        Path,
        typer.Argument(
            help="An ext4 file system (no partition table), or a directory to make one of.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="What to call it.  [default: after the file]", show_default=False),
    ] = None,
) -> None:
    """Copy an image of your own into the cache, and print its path.

    Labels are kept as they are. Where it lacks a tool or a policy that a setup needs, the boot
    ends with its name and gives no numbers. To use a file without a copy of it, name its
    path where an image is asked for (`./root.ext4`).
    """
    from lsmeter.image.own import add_image

    image = add_image(source.expanduser(), name or source.absolute().stem.lower())
    SCREEN.say(f"added {image.name}: {image.used_bytes >> 20} MiB")
    SCREEN.out.print(escape(str(image.file)), soft_wrap=True)


@app.command("list")
def list_images(
    form: Annotated[
        ListFormat, typer.Option("--format", "-f", help="A table, or JSON for scripts.")
    ] = ListFormat.TABLE,
) -> None:
    """List images: those that were built or added, and those that can be built."""
    from lsmeter.image import store
    from lsmeter.image.definition import definition_names, load_definition

    images = store.list_images()
    if form is ListFormat.JSON:
        SCREEN.out.print(
            json.dumps([{**store.to_dict(image), "path": str(image.file)} for image in images]),
            markup=False,
            soft_wrap=True,
        )
        return
    table = Table(box=None, pad_edge=False)
    for title in ("name", "identity", "MiB", "labelled", "built in", "title"):
        right = title in ("MiB", "labelled", "built in")
        table.add_column(title, justify="right" if right else "left")
    for image in images:
        numbers = (f"{image.used_bytes >> 20}", f"{image.labelled}", f"{image.build_s:.0f} s")
        table.add_row(*map(escape, (image.name, image.identity[:12], *numbers, image.title)))
    built = {image.name for image in images}
    for name in (name for name in definition_names() if name not in built):
        table.add_row(*map(escape, (name, "(not built)", "", "", "", load_definition(name).title)))
    SCREEN.out.print(table)


@app.command("path")
def path(name: Name = "policy") -> None:
    """Print the path of an image that is there already; nothing is built.

    The labels that its files have are listed beside it, in `contexts`.
    """
    from lsmeter.image.build import built_image

    SCREEN.out.print(escape(str(built_image(name).file)), soft_wrap=True)


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The image's name, as `lsmeter image list` has it.")],
) -> None:
    """Remove an image, of every identity that it was built with."""
    from lsmeter.errors import UsageError
    from lsmeter.image import store
    from lsmeter.registry import unknown

    images = store.list_images()
    if not images:
        raise UsageError("there is no image to remove", hint="see: lsmeter image list")
    if name not in {image.name for image in images}:
        raise unknown("image", name, {image.name for image in images})
    for image in store.remove_images(name):
        SCREEN.say(f"removed {image.name} ({image.identity[:12]})")
