# SPDX-License-Identifier: GPL-2.0-or-later
"""How commands explain themselves, and `lsmeter help`: all of that, and the documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from lsmeter.cli.options import GROUPS, OUTPUT, RARE, argument
from lsmeter.core.errors import ExitCode
from lsmeter.core.former import tell_former
from lsmeter.core.groups import grouped

_TYPE = re.compile(r"<(.*)>")  # how typer names a type
_FULL = "lsmeter.full"  # the key of a context that shows all there is
_WIDEST = 27  # of the names of options
_LONG = 200  # characters of text that `--help` leaves out

# What options were called once; they are still taken.
_OLD_NAMES = {
    "--out": "--run-dir",
    "--color": "--colour",
    "--again": "--fresh",
    "--refresh": "--fresh",
    "--no-cache": "--fresh",
}


class _Text:
    """Help in plain text: paragraphs, and examples (what is indented) one a line.

    `--help` has the first paragraph, the examples and the usual options; `lsmeter help` has all.
    """

    help: str | None
    params: list[Any]
    get_params: Any

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take old names of options for new ones."""
        known = {name for param in self.params for name in param.opts}
        for index, word in enumerate(args):
            name, equals, value = word.partition("=")
            if name in _OLD_NAMES and name not in known:
                args[index] = _OLD_NAMES[name] + equals + value
                tell_former(name, _OLD_NAMES[name])
        found: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return found

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the text above the options."""
        first, *others = (self.help or "").split("\n\n")
        brief = _is_brief(self, ctx)
        for paragraph in (first, *(item for item in others if not brief or _is_example(item))):
            formatter.write_paragraph()
            with formatter.indentation():
                if not _is_example(paragraph):
                    formatter.write_text(paragraph)
                    continue
                for line in paragraph.splitlines():
                    formatter.write(f"{'':{formatter.current_indent + 4}}{line.strip()}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options by their groups, in one column."""
        shown = [item for item in self.get_params(ctx) if not item.hidden]
        groups = grouped((_group(item), _row(item, ctx)) for item in shown)
        brief = _is_brief(self, ctx)
        if brief:
            groups.pop(RARE, None)
        width = max(len(name) for rows in groups.values() for name, _ in rows)
        for title in ("Arguments", "Options", *GROUPS):
            if title in groups:
                with formatter.section(title):
                    rows = [(name.ljust(min(width, _WIDEST)), text) for name, text in groups[title]]
                    formatter.write_dl(rows)
        notes = []
        if any(name.endswith("...") for rows in groups.values() for name, _ in rows):
            notes.append("...: may be repeated.")
        if brief:
            words = ctx.command_path.partition(" ")[2]
            notes.append(f"All options and text: lsmeter help {words}")
        if notes:
            formatter.write(f"\n{'  '.join(notes)}\n")


def _is_brief(command: Any, ctx: Any) -> bool:
    """Tell whether help leaves text and options out: `--help` of commands with much of them."""
    if ctx.meta.get(_FULL) or isinstance(command, TyperGroup):
        return False
    text = (command.help or "").split("\n\n")[1:]
    rare = any(_group(item) == RARE for item in command.params)
    return rare or sum(len(item) for item in text if not _is_example(item)) > _LONG


def _is_example(paragraph: str) -> bool:
    return paragraph.startswith((" ", "lsmeter ", "strace "))


def _group(item: Any) -> str:
    """Return the title under which help shows a parameter."""
    if item.param_type_name == "argument":
        return "Arguments"
    return OUTPUT if item.name == "help" else item.rich_help_panel or "Options"


def _row(item: Any, ctx: Any) -> tuple[str, str]:
    """Return what is written for a parameter: its names, and what it does."""
    if item.param_type_name == "argument":
        return item.metavar, item.help or ""
    names, _ = item.get_help_record(ctx)
    names = _TYPE.sub(lambda found: found[1] if "|" in found[1] else item.name.upper(), names)
    default = item.show_default if isinstance(item.show_default, str) else item.default
    told = [item.help]
    if item.required:
        told.append("[required]")
    elif item.show_default and default not in (None, False) and not isinstance(default, list):
        told.append(f"[default: {f'{default:g}' if isinstance(default, float) else default}]")
    return names + "..." * item.multiple, " ".join(told)


class Command(_Text, TyperCommand):
    """A command; its arguments have names in capitals."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: RUN, [RUN], not {RUN}."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def __init__(self, name: str | None, **words: Any) -> None:
        super().__init__(name, **words)
        for item in self.params:
            if item.param_type_name == "argument":
                item.metavar = item.metavar or item.name.upper()


class Group(_Text, TyperGroup):
    """A group of commands, which are listed with the whole of their first sentence.

    menu has their names by the titles that they are listed under.
    """

    menu: ClassVar[Mapping[str, Sequence[str]]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help where nothing was said, which is wrong usage."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(ExitCode.USAGE)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, then what each command does, group by group."""
        super().format_options(ctx, formatter)
        texts = {
            name: (item.help or "").partition("\n\n")[0] for name, item in self.commands.items()
        }
        width = max(map(len, texts))
        for title, names in (self.menu or {"Commands": (*texts,)}).items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", texts[name]) for name in names])


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
    context: typer.Context,
    words: Annotated[list[str] | None, argument("TOPIC|COMMAND", "What about.", topics)] = None,
) -> None:
    """Show a document, or all about a command.

    Without a topic it lists the documents. A terminal gets them laid out, a file as Markdown.

    lsmeter help
    lsmeter help experiments
    lsmeter help run
    lsmeter help hooks count
    """
    from lsmeter.cli.console import SCREEN
    from lsmeter.cli.pages import print_document
    from lsmeter.cli.show import deliver
    from lsmeter.core.registry import unknown

    known = {name: path.read_text(encoding="utf-8") for name, path in documents().items()}
    known = {name: text[text.index("# ") :] for name, text in known.items()}
    if not words:
        width = max(map(len, known), default=0)
        deliver("\n".join(f"{n:{width}}  {t.splitlines()[0][2:]}" for n, t in known.items()))
        return
    root = context.find_root()
    topic, about = " ".join(words), _about(root.command, words)
    if about is None and topic not in known:
        raise unknown("topic", topic, {*known, *root.command.commands})  # type: ignore[attr-defined]
    text = known.get(topic)
    if text is None or SCREEN.output is not None or not SCREEN.out.is_terminal:
        deliver("\n".join(filter(None, (about, text))))
        return
    if about:
        deliver(about)
    print_document(text, SCREEN.out)


def _about(command: Any, words: list[str]) -> str | None:
    """Return all of a command's help; None where there is no such command."""
    context = typer.Context(command, info_name="lsmeter", **command.context_settings)
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return None
        context = typer.Context(command, info_name=word, parent=context)
    context.meta[_FULL] = True
    text: str = command.get_help(context)
    return text
