# SPDX-License-Identifier: GPL-2.0-or-later
"""What a system does over time, as series made of the kernel's own texts."""
