# SPDX-License-Identifier: GPL-2.0-or-later
"""The `lsmeter` command: puts the sub-commands together and turns errors into exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from lsmeter import __version__
from lsmeter.base.errors import ExitCode, LsmeterError, UsageError
from lsmeter.cli import (
    history,
    hooks,
    hooks_agree,
    image,
    kernel,
    listing,
    report,
    run,
    selftest,
    slopes,
)
from lsmeter.cli.console import SCREEN, Colour

app = typer.Typer(
    name="lsmeter",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Measure what Linux Security Modules cost, and which hook the cost comes from.

    `lsmeter run` boots kernels with different security setups and measures system calls;
    `lsmeter report` shows a run again in another form; `lsmeter doctor` says what is missing
    on this machine.
    """,
    epilog="Exit codes: 0 ok, 1 some cells gave no number, 2 wrong usage, 3 build, 4 boot, "
    "5 guest, 6 workload, 7 this machine, 8 selftest failed, 130 interrupted.",
)

# The groups of commands with their help ("" is lsmeter itself), in the order of the help. A
# command is called like its function, up to the first underscore.
_GROUPS: dict[str, tuple[str, tuple[Callable[..., object], ...]]] = {
    "": (
        "",
        (
            *(run.run, report.report, report.compare, slopes.slopes, history.history),
            *(listing.list_names, listing.doctor),
        ),
    ),
    "hooks": (
        "Show where the cost comes from.",
        (hooks.source, hooks.cost, hooks.diff, hooks.count, hooks_agree.agree),
    ),
    "kernel": (kernel.HELP, (kernel.build, kernel.list_kernels, kernel.path, kernel.remove)),
    "image": (image.HELP, (image.build, image.add, image.list_images, image.path, image.remove)),
    "selftest": (
        "Show that an instrument says what is true, by costs that are known.",
        (selftest.exact,),
    ),
}
for _group, (_told, _commands) in _GROUPS.items():
    _home = typer.Typer(name=_group, no_args_is_help=True, help=_told) if _group else app
    if _group:
        app.add_typer(_home)
    for _command in _commands:
        _home.command(_command.__name__.partition("_")[0])(_command)


def _version(value: bool) -> None:  # noqa: FBT001  (typer calls it so)
    if value:
        SCREEN.out.print(f"lsmeter {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    colour: Annotated[
        Colour, typer.Option("--colour", "--color", help="When to use colour; NO_COLOR works too.")
    ] = "auto",
    _show: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    SCREEN.use(colour)


def main() -> None:
    """Run the command line and exit with a documented code (docs/exit-codes.md)."""
    sys.exit(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)
    except LsmeterError as error:
        SCREEN.show_error(error)
        return int(error.exit_code)
    except typer.TyperException as error:
        where = getattr(error, "ctx", None)
        command = where.command_path if where is not None else "lsmeter"
        SCREEN.show_error(UsageError(error.format_message(), hint=f"see {command} --help"))
        return int(ExitCode.USAGE)
    except (typer.Abort, KeyboardInterrupt):
        SCREEN.say("interrupted")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error, but nothing may be flushed either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    return code if isinstance(code, int) else int(ExitCode.OK)


if __name__ == "__main__":
    main()
