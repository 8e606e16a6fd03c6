# SPDX-License-Identifier: GPL-2.0-or-later
"""Where hooks are in a kernel's source: which modules implement them, which calls reach them."""
