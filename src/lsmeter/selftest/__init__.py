# SPDX-License-Identifier: GPL-2.0-or-later
"""The proof that no cost hides: costs injected into a kernel, and what must be said of them."""
