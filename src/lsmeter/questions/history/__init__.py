# SPDX-License-Identifier: GPL-2.0-or-later
"""How a cost develops over kernels."""
