# SPDX-License-Identifier: GPL-2.0-or-later
"""Report formats, one file each: every public module offers `FORMAT`, a `ReportFormat`."""
