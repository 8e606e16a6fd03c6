# SPDX-License-Identifier: GPL-2.0-or-later
"""Where boots happen: a file for each machine, and the layer that starts QEMU for them."""
