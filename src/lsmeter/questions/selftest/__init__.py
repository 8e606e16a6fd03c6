# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows that no cost hides: costs injected into a kernel, and what must be said of them."""
