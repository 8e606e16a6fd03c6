# SPDX-License-Identifier: GPL-2.0-or-later
"""lsmeter: what mandatory access control costs on a Linux kernel, and where the cost comes from."""

__version__ = "1.0.0"
