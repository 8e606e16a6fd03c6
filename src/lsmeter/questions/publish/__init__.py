# SPDX-License-Identifier: GPL-2.0-or-later
"""A static site of what security modules cost over kernel releases."""
