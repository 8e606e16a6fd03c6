# SPDX-License-Identifier: GPL-2.0-or-later
"""How often an operation calls hooks that consult the policy, and what a module then looks up."""
