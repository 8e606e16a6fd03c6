# SPDX-License-Identifier: GPL-2.0-or-later
"""The file system calls that are analysed: those of Table 7 and their relatives."""

from __future__ import annotations

# The table's row, and the calls that do the same with another signature or on a descriptor.
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("open", ("open",)),
    ("openat", ("openat", "openat2")),
    ("close", ("close",)),
    ("creat", ("creat",)),
    ("rename", ("rename", "renameat", "renameat2")),
    ("sendfile", ("sendfile", "sendfile64")),
    ("read", ("read", "readv", "pread64", "preadv", "preadv2")),
    ("write", ("write", "writev", "pwrite64", "pwritev", "pwritev2")),
    ("mkdir", ("mkdir", "mkdirat")),
    ("rmdir", ("rmdir",)),
    ("symlink", ("symlink", "symlinkat")),
    ("unlink", ("unlink", "unlinkat")),
    ("chmod", ("chmod", "fchmodat", "fchmodat2")),
    ("fchmod", ("fchmod",)),
    ("stat", ("stat", "newstat", "newlstat", "newfstatat", "statx")),
)

# Calls on files that the table leaves out.
RELATIVES = (
    "access",
    "chdir",
    "chown",
    "chroot",
    "copy_file_range",
    "faccessat",
    "faccessat2",
    "fallocate",
    "fchdir",
    "fchown",
    "fchownat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flock",
    "fsetxattr",
    "fsync",
    "ftruncate",
    "getdents64",
    "getxattr",
    "ioctl",
    "lchown",
    "link",
    "linkat",
    "listxattr",
    "lseek",
    "mknod",
    "mknodat",
    "newfstat",
    "readlink",
    "readlinkat",
    "removexattr",
    "setxattr",
    "splice",
    "statfs",
    "truncate",
    "utimensat",
)


def family_of(syscall: str) -> str:
    """Return the row of Table 7 that a system call is like, or ""."""
    for family, members in FAMILIES:
        if syscall in members:
            return family
    return ""


def all_syscalls() -> tuple[str, ...]:
    """Return the names of all system calls that are analysed, sorted."""
    return tuple(sorted({*RELATIVES, *(one for _, members in FAMILIES for one in members)}))
