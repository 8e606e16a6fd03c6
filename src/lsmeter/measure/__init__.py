# SPDX-License-Identifier: GPL-2.0-or-later
"""From an experiment to a run directory: tasks, instruments, plan, run and results."""
