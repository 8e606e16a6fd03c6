# SPDX-License-Identifier: GPL-2.0-or-later
"""From run directories to conclusions: estimates, comparisons, evidence; pure."""
