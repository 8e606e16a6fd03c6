# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON Schemas of the reports that lsmeter writes, one file per version."""
