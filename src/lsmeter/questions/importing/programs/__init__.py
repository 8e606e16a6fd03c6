# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats that `lsmeter import` reads, one file each."""
