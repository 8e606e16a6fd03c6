# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a person asks for to the cells and boots that answer it."""
