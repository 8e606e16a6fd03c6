# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution: from call trees that the QEMU plugin wrote to where the cost comes from.

Pure apart from load, which reads run directories; nothing here starts a guest or writes a report.
"""
