# SPDX-License-Identifier: GPL-2.0-or-later
"""How pages are made of templates: all that is said in them is escaped."""

from __future__ import annotations

import jinja2


def make_environment(package: str) -> jinja2.Environment:
    """Return what fills the templates of a package; it stops at any name that one has wrong."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
