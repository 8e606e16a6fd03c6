# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting: how often each hook runs in one operation, as a running kernel says itself.

BPF programs in the guest count (probe/bpf/count.c); the modules here give what they counted types
and tables.
"""
