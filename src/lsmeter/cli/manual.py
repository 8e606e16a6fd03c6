# SPDX-License-Identifier: GPL-2.0-or-later
"""How commands explain themselves, and `lsmeter help`: the documents that come with lsmeter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from lsmeter.core.errors import ExitCode

_TYPE = re.compile(r"<(.*)>")  # how typer names a type

# What options were called once; they are still taken.
_OLD_NAMES = {
    "--out": "--run-dir",
    "--color": "--colour",
    "--again": "--fresh",
    "--refresh": "--fresh",
    "--no-cache": "--fresh",
}


class _Text:
    """Help in plain text: paragraphs, and examples (what is indented) one a line."""

    help: str | None
    params: list[Any]
    get_params: Any

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Take old names of options for new ones."""
        known = {name for param in self.params for name in param.opts}
        for index, word in enumerate(args):
            name, equals, value = word.partition("=")
            if name in _OLD_NAMES and name not in known:
                args[index] = _OLD_NAMES[name] + equals + value
        found: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return found

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write the text above the options."""
        for paragraph in (self.help or "").split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                if not paragraph.startswith((" ", "lsmeter ")):
                    formatter.write_text(paragraph)
                    continue
                for line in paragraph.splitlines():
                    formatter.write(f"{'':{formatter.current_indent + 4}}{line.strip()}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write arguments and options under one name each, without the types of Python."""
        for kind in ("argument", "option"):
            shown = [item for item in self.get_params(ctx) if item.param_type_name == kind]
            rows = [_row(item, ctx) for item in shown if not item.hidden]
            if rows:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(rows)


def _row(item: Any, ctx: Any) -> tuple[str, str]:  # noqa: ANN401
    names, told = item.get_help_record(ctx)
    if item.param_type_name == "argument":
        return item.metavar, told.replace("  [required]", "")
    return _TYPE.sub(lambda found: found[1] if "|" in found[1] else item.name.upper(), names), told


class Command(_Text, TyperCommand):
    """A command; its arguments have names in capitals."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """Return the words of the usage line: RUN, [RUN], not {RUN}."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def __init__(self, name: str | None, **words: Any) -> None:  # noqa: ANN401
        super().__init__(name, **words)
        for item in self.params:
            if item.param_type_name == "argument":
                item.metavar = item.metavar or item.name.upper()


class Group(_Text, TyperGroup):
    """A group of commands, which are listed with the whole of their first sentence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Show the help where nothing was said, which is wrong usage."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(ExitCode.USAGE)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write what each command does."""
        with formatter.section("Commands"):
            first = ((name, item.help or "") for name, item in self.commands.items())
            formatter.write_dl([(name, text.partition("\n\n")[0]) for name, text in first])


def documents() -> dict[str, Path]:
    """Return the documents by topic: those that were installed, or those of the source tree."""
    package = Path(__file__).parents[1]
    for folder in (package / "_docs", package.parents[1] / "docs"):
        if found := sorted(folder.glob("**/[a-z]*.md"), key=lambda path: path.stem):
            return {path.stem: path for path in found}
    return {}


def topics(incomplete: str) -> list[str]:
    """Offer topics to the shell."""
    return [topic for topic in documents() if topic.startswith(incomplete)]


def help_(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="What about.", autocompletion=topics)
    ] = None,
) -> None:
    """Show a document of lsmeter's, or without a topic which there are.

    What a command does, and all of its options, `lsmeter COMMAND --help` says.

        lsmeter help
        lsmeter help experiments
    """
    from lsmeter.cli.show import deliver
    from lsmeter.core.registry import unknown

    known = {name: path.read_text(encoding="utf-8") for name, path in documents().items()}
    known = {name: text[text.index("# ") :] for name, text in known.items()}
    if topic is None:
        width = max(map(len, known), default=0)
        deliver("\n".join(f"{n:{width}}  {t.splitlines()[0][2:]}" for n, t in known.items()))
    elif topic in known:
        deliver(known[topic])
    else:
        raise unknown("topic", topic, known)
