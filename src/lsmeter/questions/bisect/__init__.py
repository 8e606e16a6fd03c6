# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the commit of a kernel's history from which on a rule of a gate is broken."""
