# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats, one file each: every public module offers `FORMAT`, a `Format`."""
