# SPDX-License-Identifier: GPL-2.0-or-later
"""The `lsmeter` command: puts the sub-commands together and turns errors into exit codes."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from lsmeter import __version__
from lsmeter.base.errors import ExitCode, LsmeterError, UsageError
from lsmeter.cli import (
    doctor,
    history,
    hooks,
    hooks_agree,
    hooks_cost,
    hooks_count,
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

# The files with commands, in the order of the help; those of a group after the group.
_COMMANDS = {
    app: (run, report, slopes, history, hooks, kernel, image, listing, doctor, selftest),
    hooks.app: (hooks_cost, hooks_count, hooks_agree),
}
for group, modules in _COMMANDS.items():
    for module in modules:
        module.add_to(group)


def _version(value: bool) -> None:  # noqa: FBT001  (typer calls it so)
    if value:
        SCREEN.out.print(f"lsmeter {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    colour: Annotated[
        Colour, typer.Option("--colour", "--color", help="When to use colour; NO_COLOR works too.")
    ] = Colour.AUTO,
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
