# SPDX-License-Identifier: GPL-2.0-or-later
"""The words in which setups say what a guest does and what it may access: steps and checks."""

from __future__ import annotations

from lsmeter.model.setup import EnforcementCheck, Step

# Where the guest mounts the file system of the benchmarks (probe/init.c).
WORK_DIRECTORY = "/data"
# What enforcement checks access: a file that comes with the image and that no policy lets a worker
# read, and one that each policy lets it use, also behind a Landlock, which grants the work
# directory.
SECRET = "/srv/lsmeter/secret"  # noqa: S105  (a path in the guest)
PUBLIC = f"{WORK_DIRECTORY}/public"

# Without CONFIG_IMA_WRITE_POLICY the kernel takes one policy in a boot, then this file is gone.
IMA_POLICY = "/sys/kernel/security/ima/policy"


def run(*argv: str, title: str = "") -> Step:
    """Run a program of the guest's image; it must leave with status 0."""
    return Step("run", argv, title)


def shell(command: str) -> Step:
    return run("/usr/bin/busybox", "sh", "-c", command)


def write(path: str, text: str, title: str = "") -> Step:
    """Write text to a file that exists, such as one of securityfs, in one call."""
    return Step("write", (path, text), title)


def load(path: str, file: str, title: str = "") -> Step:
    """Write a whole file of the guest into another, in one call."""
    return Step("load", (path, file), title)


def label(path: str, name: str, value: str) -> Step:
    """Set an extended attribute."""
    return Step("label", (path, name, value))


def mkdir(path: str) -> Step:
    return Step("mkdir", (path,))


def own(path: str) -> Step:
    """Give a file to the user that measures."""
    return Step("own", (path,))


def file(path: str, text: str = "x") -> Step:
    return Step("file", (path, text))


def mount(kind: str, path: str) -> Step:
    return Step("mount", (kind, path))


WORK = Step("work")
TRY = Step("try")  # every check that no other step names
MAKE_PUBLIC = file(PUBLIC, "public")
# The log takes ten lines in five seconds: those of checks could be lost among others.
LOG_ALL = write("/proc/sys/kernel/printk_ratelimit", "0")
# What writes audit records would take its turn within readings.
KAUDITD_LAST = Step("background", ("kauditd",))


def denies(name: str, access: str, path: str, message: str = "") -> EnforcementCheck:
    """Return an access that must be denied, with what the kernel logs of it."""
    return EnforcementCheck(name, access, path, denied=True, message=message)


def allows(name: str, access: str, path: str, message: str = "") -> EnforcementCheck:
    """Return an access that must be allowed."""
    return EnforcementCheck(name, access, path, denied=False, message=message)


def tried(*checks: EnforcementCheck) -> Step:
    """Make the accesses of these checks alone: for setups that stand behind others in a stack."""
    return Step("try", tuple(check.name for check in checks))
