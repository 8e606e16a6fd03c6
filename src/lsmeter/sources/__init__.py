# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a guest's files come from: kernels and images."""
