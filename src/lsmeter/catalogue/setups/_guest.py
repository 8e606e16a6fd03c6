# SPDX-License-Identifier: GPL-2.0-or-later
"""The words in which setups say what a guest does and what it may access: steps and checks."""

from lsmeter.core.model.setup import EnforcementCheck, Step

# Where the guest mounts the file system of the benchmarks (probe/init/init.c).
WORK_DIRECTORY = "/data"
# What enforcement checks access: a file that comes with the image and that no policy lets a worker
# read, and one that each policy lets it use, also behind a Landlock, which grants the work
# directory.
SECRET = "/srv/lsmeter/secret"  # noqa: S105  (a path in the guest)
PUBLIC = f"{WORK_DIRECTORY}/public"

# Without CONFIG_IMA_WRITE_POLICY the kernel takes one policy in a boot, then this file is gone.
IMA_POLICY = "/sys/kernel/security/ima/policy"


def do(action: str, *words: str, title: str = "") -> Step:
    """Return a step in the words of a setup file (`lsmeter help own-setups`)."""
    return Step(action, words, title)


def shell(command: str) -> Step:
    return do("run", "/usr/bin/busybox", "sh", "-c", command)


def made(path: str, text: str = "x") -> tuple[Step, Step]:
    """Make a file that belongs to the user that measures."""
    return do("file", path, text), do("own", path)


WORK = do("work")
TRY = do("try")  # every check that no other step names
MAKE_PUBLIC = do("file", PUBLIC, "public")
# The log takes ten lines in five seconds: those of checks could be lost among others.
LOG_ALL = do("write", "/proc/sys/kernel/printk_ratelimit", "0")
# What writes audit records would take its turn within readings.
KAUDITD_LAST = do("background", "kauditd")


def denies(name: str, access: str, path: str, message: str = "") -> EnforcementCheck:
    """Return an access that must be denied, with what the kernel logs of it."""
    return EnforcementCheck(name, access, path, denied=True, message=message)


def allows(name: str, access: str, path: str, message: str = "") -> EnforcementCheck:
    """Return an access that must be allowed."""
    return EnforcementCheck(name, access, path, denied=False, message=message)


def tried(*checks: EnforcementCheck) -> Step:
    """Make the accesses of these checks alone: for setups that stand behind others in a stack."""
    return do("try", *(check.name for check in checks))
