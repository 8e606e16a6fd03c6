# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from outside made safe to show: what a guest, a file or a kernel tree says, and names."""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""Return `text` with every character that does not print written as an escape (`\x1b`).

    These are control characters, marks that turn the direction of writing, and bytes that were
    no text; `keep` names the ones to leave (a newline, a tab).
    """
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in keep
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
