# SPDX-License-Identifier: GPL-2.0-or-later
"""Where kernels come from: each public module offers SOURCE, a KernelSource."""
