# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents have in them: commands, links, headings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
_INLINE = re.compile(r"`((?:\w+=\S+ )?lsmeter\s[^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ENDS = {"|", "||", "&&", ";", ">", "2>&1", "&"}


def lines(text: str) -> Iterator[str]:
    """Yield the commands of lsmeter in a block, each on one line."""
    for line in text.replace("\\\n", " ").splitlines():
        command = line.strip().removeprefix("$ ")
        if re.match(r"(\w+=\S+ )*lsmeter( |$)", command):
            yield command


def commands(text: str) -> Iterator[str]:
    """Yield every command line of lsmeter in a document: of blocks, and within sentences."""
    for _kind, block in _BLOCK.findall(text):
        yield from lines(block)
    prose = _BLOCK.sub("", text)
    for block in _INDENTED.findall(prose):
        yield from lines(block)
    yield from (" ".join(found.split()) for found in _INLINE.findall(prose))


def quick_commands(text: str) -> Iterator[str]:
    """Yield the commands of the blocks that are marked `sh`: those that anybody may try at once."""
    for kind, block in _BLOCK.findall(text):
        if kind == "sh" and not block.startswith("#!"):
            yield from lines(block)


def words(command: str) -> list[str]:
    """Return the words after `lsmeter`, without what a shell takes for itself."""
    found = shlex.split(command, comments=True)
    found = found[found.index("lsmeter") + 1 :]
    ends = [at for at, word in enumerate(found) if word in _ENDS]
    return found[: ends[0]] if ends else found


def links(text: str) -> Iterator[str]:
    """Yield where the links of a document lead."""
    for markdown, html in _LINK.findall(re.sub(r"`[^`\n]*`", "", _BLOCK.sub("", text))):
        yield markdown or html


def anchors(text: str) -> set[str]:
    """Return the names by which the headings of a document are linked to."""
    titles = _HEADING.findall(_BLOCK.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
