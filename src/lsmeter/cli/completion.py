# SPDX-License-Identifier: GPL-2.0-or-later
"""What `lsmeter --show-completion` and `--install-completion` give bash: typer's breaks at colons.

Readline ends words at colons and equal signs as well (COMP_WORDBREAKS), and replaces only what
stands after the last of them. The words of the line are read as the shell reads them, and what
is offered loses the part that stays. Names with spaces are quoted.
"""

from __future__ import annotations

from pathlib import Path

from typer import _completion_classes, _completion_shared

# A template of typer's below its licence. typer's own reader takes the line for the words; -1: the
# last of them is to be completed.
BASH = Path(__file__).with_name("completion.bash").read_text("utf-8").partition("\n")[2]


def use() -> None:
    """Let typer give bash this script; the other shells keep theirs."""
    _completion_classes.BashComplete.source_template = BASH
    _completion_shared._completion_scripts["bash"] = BASH  # noqa: SLF001
