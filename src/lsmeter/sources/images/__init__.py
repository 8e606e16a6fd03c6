# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest images: Debian root file systems with policies and tools, built once and never changed."""
