# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the machine lsmeter runs on."""
