# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels built from source: fragments of configuration, sources, builds and their store."""
