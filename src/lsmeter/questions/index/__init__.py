# SPDX-License-Identifier: GPL-2.0-or-later
"""One number for each setup, against a reference."""
