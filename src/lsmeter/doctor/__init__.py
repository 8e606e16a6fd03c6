# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of this machine, one function each: what is missing, and how to get it."""
