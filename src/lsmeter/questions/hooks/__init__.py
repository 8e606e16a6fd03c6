# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the cost comes from: hooks in the source, hooks counted, hooks attributed."""
