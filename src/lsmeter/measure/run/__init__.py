# SPDX-License-Identifier: GPL-2.0-or-later
"""Carrying out a plan: guests side by side, every boot stored as soon as it is made."""
