# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in the guest and what it says: probe, request, initramfs, protocol, console."""
