# SPDX-License-Identifier: GPL-2.0-or-later
"""What was measured, on disk: boots, run directories, and the store that runs share.

docs/results-format.md describes every file.
"""
