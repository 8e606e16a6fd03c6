# SPDX-License-Identifier: GPL-2.0-or-later
"""One file for each setup; a new file is found by its presence (docs/adding-things.md)."""
