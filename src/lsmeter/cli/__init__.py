# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: options to calls, results to text, errors to exit codes."""
