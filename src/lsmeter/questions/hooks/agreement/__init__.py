# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares four views of how often hooks run: source, counting, attribution, slopes."""
