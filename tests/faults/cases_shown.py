# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from outside that would act on a terminal, a spreadsheet or a page, in every format."""

from __future__ import annotations

from functools import partial

from tests.faults.case import Case
from tests.faults.field import MAIN, Ended, Field

# Moves the cursor, turns the direction of writing, is markup, a link, a formula, a second line.
_TEXT = (
    r"=1+1 \u001b]0;owned\u0007 \u009b31m \u202e \u2066 <script>alert(1)</script> "
    r"[x](javascript:alert(1)) | a\nb\tc \u200b"
)
_FORMATS = {
    "table": r"\x1b]0;owned",
    "text": r"\x1b]0;owned",
    "markdown": r"\\x1b\]0;owned",
    "csv": "selinux",
    "json": r"\\x1b]0;owned",
    "html": "&lt;script&gt;alert(1)",
}


def _reported(form: str, field: Field) -> Ended:
    """Measure with an experiment file that says such things, and show the run."""
    words = f'title = "{_TEXT}"\nquestion = "{_TEXT}"\n'
    (field.home / "asked.toml").write_text(words, "utf-8")
    done = field("run", "./asked.toml", *MAIN[1:])
    shown = field("report", "run", "--format", form)
    return Ended(shown.words, shown.code or done.code, shown.out, shown.err)


CASES = [
    Case("shown", f"as {form}", partial(_reported, form), frozenset({0}), says, recovers=False)
    for form, says in _FORMATS.items()
]
