# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the HTML page: its plots, its text and its template; no numbers of its own."""
