# SPDX-License-Identifier: GPL-2.0-or-later
"""What was measured, on disk: boots, run directories, and the store that runs share.

`lsmeter help results-format` describes every file.
"""
