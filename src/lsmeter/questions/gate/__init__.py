# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds one run against another under rules: what may cost more, and by how much; pure."""
