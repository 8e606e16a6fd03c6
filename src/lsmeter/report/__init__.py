# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a finished report into text that people and programs read; measures nothing."""
