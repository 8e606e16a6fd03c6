# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels in the order of their versions."""

from __future__ import annotations

import re

from debian.debian_support import Version


def order_of(version: str) -> Version:
    """Return a key by which older versions come first, as Debian compares them."""
    text = re.sub(r"[^0-9A-Za-z.+~-]", "", version)
    return Version(text if text[:1].isdigit() else f"0{text}")
