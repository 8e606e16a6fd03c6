# SPDX-License-Identifier: GPL-2.0-or-later
"""How the command line speaks: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
from functools import partial
from typing import Literal

from rich.console import Console
from rich.markup import escape

from lsmeter.base.errors import LsmeterError

_TAIL_LINES = 20


Colour = Literal["auto", "always", "never"]


class Screen:
    """The two consoles of a command; set up once, by the options before the command."""

    def __init__(self) -> None:
        self.use("auto")

    def use(self, colour: Colour) -> None:
        """Switch colour on or off; auto follows the terminal and NO_COLOR."""
        forced = {"always": True, "never": False}.get(colour)
        plain = colour == "never" or (colour == "auto" and "NO_COLOR" in os.environ)
        how = partial(
            Console,
            highlight=False,
            color_system=None if plain else "auto",
            force_terminal=forced,
        )
        self.out, self.err = how(), how(stderr=True)

    @property
    def colour(self) -> bool:
        """Whether results are shown in colour."""
        return self.out.is_terminal and self.out.color_system is not None

    def tell(self, text: str) -> None:
        """Print a line of results."""
        self.out.print(escape(text), soft_wrap=True)

    def say(self, text: str) -> None:
        """Say something about what is going on, to standard error."""
        self.err.print(escape(text), soft_wrap=True)

    def show_error(self, error: LsmeterError) -> None:
        """Show an error: one line, then the end of the log where there is one, then the hint."""
        self.err.print(f"[bold red]error:[/] {escape(error.title)}", soft_wrap=True)
        for line in error.log_tail[-_TAIL_LINES:]:
            self.err.print(f"  [dim]|[/] {escape(line)}", soft_wrap=True)
        if error.log_path is not None:
            self.err.print(f"  [dim]log:[/] {escape(str(error.log_path))}", soft_wrap=True)
        if error.hint:
            self.err.print(f"  [cyan]hint:[/] {escape(error.hint)}", soft_wrap=True)


SCREEN = Screen()
