# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs against each other."""
