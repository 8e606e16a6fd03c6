# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to estimates, and from estimates to comparisons; pure."""
