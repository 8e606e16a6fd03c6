# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux contexts of an image's files: looked up in the tree by the policy's own tool.

The lookup runs inside the tree, with its policy and its regular expressions; what is done with
the answer is here. No extended attribute is needed on the machine's disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsmeter.errors import BuildError
from lsmeter.image.tree import Node

# Where the lookup leaves its answer, in the tree; /tmp is emptied afterwards.
PATHS = "/tmp/lsmeter-paths"  # noqa: S108  (a path in the image)
CONTEXTS = "/tmp/lsmeter-contexts"  # noqa: S108
NONE = "<<none>>"
_CONTEXT = re.compile(r"[!-~]+:[!-~]+:[!-~]+")

# In chunks, as xargs makes them; one context a line, in the order of the paths.
LOOKUP = (
    f"find / -xdev -path /tmp/lsmeter-* -prune -o -print0 > {PATHS} && "
    f"xargs -0 matchpathcon -n < {PATHS} > {CONTEXTS}"
)


def parse_lookup(paths: bytes, contexts: bytes) -> dict[str, str]:
    """Pair the paths (each ended by a zero) with the contexts (one a line).

    A file that the policy leaves without a context has none here. Raises BuildError when the
    lookup did not answer for each path, or answered what is no context.
    """
    names = paths.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found = contexts.decode("utf-8", "replace").splitlines()
    if not names or len(names) != len(found):
        raise BuildError(
            f"labels: {len(names)} paths were looked up, {len(found)} contexts came back",
            hint="does the image have matchpathcon (selinux-utils) and a policy?",
        )
    for name, context in zip(names, found, strict=True):
        if context != NONE and not _CONTEXT.fullmatch(context):
            raise BuildError(f"labels: '{context[:100]}' for {name[:200]} is no context")
    pairs = zip(names, found, strict=True)
    return {name: context for name, context in pairs if context != NONE}


def for_nodes(
    nodes: Iterable[Node], looked_up: dict[str, str], asked: frozenset[str]
) -> dict[str, str]:
    """Return the context of each node that has one.

    asked: every path that was looked up. Raises BuildError for a file that was not.
    """
    labels = {}
    for node in nodes:
        if node.path not in asked:
            raise BuildError(f"labels: {node.path[:200]} was never looked up")
        if node.path in looked_up:
            labels[node.path] = looked_up[node.path]
    return labels


def listing(labels: dict[str, str]) -> bytes:
    """Write labels as text, one file a line: context, tab, path."""
    lines = (f"{context}\t{path}\n" for path, context in sorted(labels.items()))
    return "".join(lines).encode("utf-8", "surrogateescape")
