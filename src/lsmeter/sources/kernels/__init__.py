# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels: names that a user gives, turned into images that a guest can boot."""
