# SPDX-License-Identifier: GPL-2.0-or-later
"""The `lsmeter` command: puts the sub-commands together and turns errors into exit codes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import typer

from lsmeter import __version__
from lsmeter.cli import completion, manual, worker_command
from lsmeter.cli import list_command as listing
from lsmeter.cli.console import SCREEN, STAND_INS
from lsmeter.cli.exit_status import exit_status
from lsmeter.cli.options import Display, but, expand
from lsmeter.cli.show import apply
from lsmeter.core.former import tell_with
from lsmeter.core.owners import leave_strangers
from lsmeter.measure.results import command as pack
from lsmeter.questions.bisect import command as bisect
from lsmeter.questions.cost import command as report
from lsmeter.questions.cost import run_command as run
from lsmeter.questions.demo import command as demo
from lsmeter.questions.estimate import command as estimate
from lsmeter.questions.exec import command as exec_command
from lsmeter.questions.gate import command as gate
from lsmeter.questions.here import command as here
from lsmeter.questions.history import command as history
from lsmeter.questions.hooks import command as hooks
from lsmeter.questions.hooks.agreement import command as hooks_agree
from lsmeter.questions.importing import command as import_
from lsmeter.questions.index import command as index
from lsmeter.questions.monitor import command as monitor
from lsmeter.questions.patches import command as patches
from lsmeter.questions.publish import command as publish
from lsmeter.questions.reproduce import command as reproduce
from lsmeter.questions.selftest import command as selftest
from lsmeter.questions.slopes import command as slopes
from lsmeter.questions.time import command as time
from lsmeter.sources.images import command as image
from lsmeter.sources.kernels import command as kernel

Function = Callable[..., object]

# What prints a line or a text, and what prints nothing: they have no format, no file to print to.
_LINES = (
    *(pack.pack, kernel.build, kernel.find, kernel.path),
    *(image.build, image.add, image.path, manual.help_),
    demo.demo,
)
_NOTHING = (kernel.remove, image.remove, publish.publish, worker_command.worker)


@dataclass(frozen=True)
class _Group:
    """A command that has commands."""

    name: str
    told: str
    commands: tuple[Function, ...]


def _name(command: Function | _Group) -> str:
    """Return the name of a command: that of its function, up to the first underscore."""
    if isinstance(command, _Group):
        return command.name
    return command.__name__.partition("_")[0]


def _add(home: typer.Typer, command: Function | _Group) -> None:
    if isinstance(command, _Group):
        group = typer.Typer(name=command.name, cls=manual.Group, help=command.told)
        for item in command.commands:
            _add(group, item)
        home.add_typer(group)
        return
    without = ["form"] * (command in _LINES + _NOTHING) + ["output"] * (command in _NOTHING)
    words = f"{home.info.name} {_name(command)}".removeprefix("lsmeter ")
    made = expand(command, Annotated[Display, but(*without)], partial(apply, words))
    home.command(_name(command), cls=manual.Command)(made)


_SELFTEST = "Show that an instrument finds costs that are known."
_HOOKS = (hooks.source, hooks.cost, hooks.diff, hooks.count, hooks.coverage, hooks_agree.agree)
_KERNEL = (kernel.build, kernel.find, kernel.list_kernels, kernel.path, kernel.remove)
_IMAGE = (image.build, image.add, image.list_images, image.path, image.remove)

# All commands by what they are for, in the order of help.
_MENU: dict[str, tuple[Function | _Group, ...]] = {
    "Measure": (run.run, exec_command.exec_, reproduce.reproduce, import_.import_),
    "Read": (
        *(report.report, report.compare, history.history, index.index, monitor.monitor),
        *(estimate.estimate, publish.publish, pack.pack, demo.demo),
    ),
    "Judge": (gate.gate, bisect.bisect, patches.patches),
    "Explain": (_Group("hooks", "Show which hooks a cost comes from.", _HOOKS), slopes.slopes),
    "Time": (
        *(time.calibrate, time.validate),
        _Group("here", here.HELP, (here.run, here.plan, here.restore)),
    ),
    "Prepare": (
        *(_Group("kernel", kernel.HELP, _KERNEL), _Group("image", image.HELP, _IMAGE)),
        *(worker_command.worker, listing.doctor, listing.list_names),
        *(_Group("selftest", _SELFTEST, (selftest.exact, selftest.timed)), manual.help_),
    ),
}


class Commands(manual.Group):
    """All commands."""

    menu: ClassVar = {title: tuple(map(_name, items)) for title, items in _MENU.items()}


_HELP = """\
Measure what Linux Security Modules cost, and which hook the cost comes from.

`lsmeter run` boots kernels with different security setups and measures system calls;
`lsmeter report` shows a run again in another form; `lsmeter doctor` says what is missing
on this machine; `lsmeter help` shows the documents.

    lsmeter run
    lsmeter run -k debian:6.1 -s selinux -s apparmor
    lsmeter help experiments
"""
_EPILOG = (
    "Exit codes: 0 ok, 1 some cells gave no number, 2 wrong usage, 3 build, 4 boot, "
    "5 guest, 7 this machine, 8 selftest failed, 9 a fault of lsmeter, "
    "125 a gate cannot judge, 130 interrupted. `lsmeter help exit-codes` says more."
)


def _version(value: bool) -> None:
    if value:
        SCREEN.tell(f"lsmeter {__version__}")
        raise typer.Exit


def _options(
    *,
    _show: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take what may stand before the command, and put back what a killed one has changed."""
    for text in leave_strangers():
        SCREEN.say(text)
    here.put_back()


def make_app(first: str = "") -> typer.Typer:
    """Return the command line: all commands, or the one alone that its first word names.

    Reading the options of the others takes longer than most of them.
    """
    app = typer.Typer(
        name="lsmeter",
        cls=Commands,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=_HELP,
        epilog=_EPILOG,
    )
    known = {_name(item): item for items in _MENU.values() for item in items}
    alone = first in known and first != _name(manual.help_)  # which tells of all
    for item in (known[first],) if alone else known.values():
        _add(app, item)
    general = Annotated[Display, but("form", "output")]
    app.callback()(expand(_options, general, partial(apply, "")))
    completion.use()
    return app


def main() -> None:
    """Run the command line and exit with a documented code (`lsmeter help exit-codes`)."""
    SCREEN.use("auto")
    tell_with(SCREEN.say)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=STAND_INS)
    app = make_app(*sys.argv[1:2])
    sys.exit(exit_status(lambda: app(prog_name="lsmeter", standalone_mode=False)))


if __name__ == "__main__":
    main()
