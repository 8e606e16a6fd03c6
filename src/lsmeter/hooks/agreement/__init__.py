# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds what several ways say of one thing against each other: how often hooks run; pure."""
