# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints documents in one of the formats; and what `run` prints before and after."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import Display
from lsmeter.core.errors import UsageError
from lsmeter.tables.model import Detail, Document, Section, Table

if TYPE_CHECKING:
    from lsmeter.catalogue.studies import Published
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.time.calibration import Calibration
    from lsmeter.tables.render import Files

HTML_FILE = "report.html"
_NEEDS_DIRECTORY = "name a directory for them: -o DIRECTORY, or -o NAME.svg for NAME-1.svg, ..."


def apply(command: str, display: Display) -> None:
    """Show from now on as the options of a command say."""
    quiet, verbose = display.quiet or SCREEN.quiet, display.verbose or SCREEN.verbose
    SCREEN.use(display.colour or SCREEN.when, quiet=quiet, verbose=verbose)
    SCREEN.form = display.form
    SCREEN.piped = display.output == Path("-")
    SCREEN.output = None if SCREEN.piped else display.output
    _check_output(display.form, command)


def _check_output(form: str, command: str) -> None:
    """Refuse what the command or a terminal cannot show, before anything is measured."""
    from lsmeter.core.storage import need_dir
    from lsmeter.tables.render import find_format

    found = find_format(form)
    found.check(command)
    if SCREEN.output is not None:
        need_dir(SCREEN.output.parent, "--output")
        if SCREEN.output.is_dir() and not found.binary:
            raise UsageError(f"--output {SCREEN.output}: a directory", hint="name a file in it")
    terminal = SCREEN.output is None and sys.stdout is not None and sys.stdout.isatty()
    if terminal and found.binary:
        raise UsageError(f"--format {form}: not for a terminal", hint="name a file: -o FILE")


def show(document: Document | Callable[[Detail], Document], *, everything: bool = False) -> None:
    """Print a document in the format of --format, or write it to a file.

    A function makes the document for the room that the format has; text has more than what comes
    first where everything is wanted.
    """
    from lsmeter.tables.render import Options, find_format, rendered

    if not isinstance(document, Document):
        detail = find_format(SCREEN.form).detail
        document = document(Detail.TERMINAL if everything and detail is Detail.SHORT else detail)
    colour = SCREEN.colour and SCREEN.output is None
    found = rendered(document, SCREEN.form, Options(width=SCREEN.out.width, colour=colour))
    if isinstance(found, str):
        deliver(found)
    else:
        deliver_files(found)


def listed(
    name: str, title: str, table: Table, *, notes: tuple[str, ...] = (), data: object | None = None
) -> Document:
    """Make a document of one table without words around it; no table where it has no rows."""
    section = Section("", tables=(table,) if table.rows else ())
    return Document(name, 1, title, sections=(section,), notes=notes, data=data)


def deliver(text: str) -> None:
    """Print text, or write it to the file of --output."""
    if SCREEN.output is None:
        SCREEN.write(text if text.endswith("\n") else text + "\n", SCREEN.form)
    else:
        write(SCREEN.output, text.encode())


def deliver_files(found: bytes | Files) -> None:
    """Write what is no text: one file to where text would go, several into a directory.

    Where --output ends in a suffix, several get its name with a number.
    """
    from lsmeter.core.storage import output_dir

    files = {"": found} if isinstance(found, bytes) else found.files
    path = SCREEN.output
    if len(files) == 1:
        data = next(iter(files.values()))
        if path is None:
            SCREEN.write_bytes(data)
        else:
            write(path / next(iter(files)) if path.is_dir() else path, data)
    elif path is None:
        raise UsageError(f"--format {SCREEN.form}: {len(files)} files", hint=_NEEDS_DIRECTORY)
    else:
        numbered = path.suffix and not path.is_dir()
        home = path.parent if numbered else output_dir(path, "--output")
        for number, (name, data) in enumerate(files.items(), 1):
            write(home / (f"{path.stem}-{number}{path.suffix}" if numbered else name), data)
    for text in () if isinstance(found, bytes) else found.left_out:
        SCREEN.say(f"left out: {text}")


def write(path: Path, data: bytes, where: str = "--output") -> None:
    """Write a file that an option named, and say so."""
    from lsmeter.core.storage import write_output

    write_output(path, data, where)
    SCREEN.say(f"written to {path}")


def check_calibration(named: str | None, task: str) -> None:
    """Refuse a calibration that cannot be read, or that a run cannot use, before it is made."""
    from lsmeter.questions.time.calibration import find_calibration

    if named in {None, "none"}:
        return
    if task != "events":
        raise UsageError(
            "--calibration: times are predicted from events", hint="add --events, or leave it out"
        )
    find_calibration(str(named))


def calibration_for(named: str | None, *runs: RunData) -> Calibration | None:
    """Return what predicts the times of runs with events: what was named, else this machine's.

    UsageError where one was named for a run of which no time can be predicted.
    """
    from lsmeter.questions.time.calibration import find_calibration, of_host, this_host
    from lsmeter.questions.time.document import NO_EVENTS

    if named == "none":
        return None
    for run in runs:
        if not any(cell.task.name == "events" for cell in run.manifest.cells):
            if named is not None:
                raise UsageError(f"--calibration: {run.title}: times are {NO_EVENTS}")
            return None
    return of_host(this_host()) if named is None else find_calibration(named)


def studies_of(names: list[str] | None) -> list[Published]:
    """Return the studies that were named; UsageError for one that is not known or damaged."""
    from lsmeter.catalogue.studies import find_published

    return [find_published(name) for name in names or ()]


def the_latest() -> Path:
    """Return the run that was made last, and say which it is."""
    from lsmeter.measure.results.held import latest_run

    run = latest_run()
    SCREEN.say(f"the latest run: {run}")
    return run


def show_run(
    path: Path,
    named: str | None = None,
    *,
    studies: Sequence[Published] = (),
    everything: bool = False,
) -> None:
    """Print the table of a run, write its page, and say where that is.

    named: the calibration by which its times are predicted, None for that of this machine.
    studies: those whose printed values stand beside its own.
    """
    from lsmeter.core.storage import write_atomic
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cost.document import document_of
    from lsmeter.tables.render import render

    run = read_run(path)
    make = document_of(run, calibration_for(named, run), studies)
    page = path / HTML_FILE
    try:
        show(make, everything=everything)
    finally:  # its plots take a second, which the answer does not wait for
        write_atomic(page, render(make(Detail.FULL), "html").encode())
    # Programs that read the results must not meet these lines.
    tell = SCREEN.tell if SCREEN.form == "table" and SCREEN.output is None else SCREEN.say
    tell(f"results {path}")
    tell(f"page    {page}")
