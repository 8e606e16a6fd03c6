# SPDX-License-Identifier: GPL-2.0-or-later
"""What each commit of a series costs, as the text of a cover letter."""
