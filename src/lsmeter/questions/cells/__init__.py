# SPDX-License-Identifier: GPL-2.0-or-later
"""What every question reads of a run: cells, their comparisons, checks."""
