# SPDX-License-Identifier: GPL-2.0-or-later
"""What to know of two kernels' builds before their counts are compared; pure.

Builds that differ in a patch only have no noise: every difference is the patch's. Another compiler
or another configuration changes counts by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsmeter.core.model import Kernel

# As measured on one source, 6.1, with both compilers: the range over all benchmarks.
_MEASURED = (
    "gcc 11 against gcc 12 moves counts by -0.6 to +3.3 %, a module's overhead by at most 0.6 "
    "points"
)
_COMPILER = "CC_VERSION_TEXT"
_SECURITY = ("SECURITY", "LSM", "DEFAULT_SECURITY", "INTEGRITY", "IMA", "EVM", "AUDIT", "BPF_LSM")
_NAMED = re.compile(r"\b(gcc|clang)\b.*?\b(\d+(?:\.\d+)+)")
_SHOWN = 6  # options by name


def caveats(pairs: Iterable[tuple[Kernel, Kernel]], *, security: bool = True) -> tuple[str, ...]:
    """Say what differs between the builds of kernels that are compared, baseline first.

    security says whether options of the security modules count: in one run they are the setup.
    """
    found: dict[str, None] = {}
    for old, new in pairs:
        if old.image_sha256 == new.image_sha256:
            continue
        if not old.config or not new.config:
            unknown = new.name if old.config else old.name
            found[f"how {unknown} was built is not known: compilers or options may differ"] = None
            continue
        found |= dict.fromkeys((*_compilers(old, new), *_options(old, new, security=security)))
    return tuple(found)


def _compilers(old: Kernel, new: Kernel) -> Iterable[str]:
    first, second = old.config.get(_COMPILER, ""), new.config.get(_COMPILER, "")
    if not first or not second:
        if first != second:
            yield f"the compiler of {new.name if first else old.name} is not known"
    elif first != second:
        # gcc 12.2.0, where those differ; else all that is said.
        short = [f"{n[1]} {n[2]}" if (n := _NAMED.search(s)) else s for s in (first, second)]
        before, after = (first, second) if short[0] == short[1] else short
        yield f"different compilers: {after} against {before}; as measured, {_MEASURED}"


def _options(old: Kernel, new: Kernel, *, security: bool) -> Iterable[str]:
    told = [
        f"{name}={after} against {before}"
        for name in sorted({*old.config, *new.config} - {_COMPILER})
        for before, after in [[item.config.get(name) or "n" for item in (old, new)]]
        if before != after and (security or not name.startswith(_SECURITY))
    ]
    if told:
        more = f" and {len(told) - _SHOWN:,} more" if len(told) > _SHOWN else ""
        yield f"different build options: {', '.join(told[:_SHOWN])}{more}"
