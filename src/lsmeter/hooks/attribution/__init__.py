# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution: what each hook and each function costs in an operation, in guest instructions.

A QEMU plugin (plugin/) counts; the modules here give it symbols, read what it wrote, and
explain the difference between two setups down to the last instruction.
"""
