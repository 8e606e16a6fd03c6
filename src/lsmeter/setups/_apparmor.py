# SPDX-License-Identifier: GPL-2.0-or-later
"""What AppArmor's setups with profiles have in common: loading, entering, proving.

The profiles come compiled with the image: compiling one in a guest takes longer than all that is
measured there, and one of ten thousand rules takes minutes. They are compiled for the features
that Debian pins, which every kernel from 5.10 on has, so that the same tables are measured on
each of them.
"""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import MAKE_PUBLIC, PUBLIC, SECRET, WORK, Layer, Proof, Step, load, write

_CONTROL = "/sys/kernel/security/apparmor"
_NEW = "/srv/lsmeter/new"

DENIED_PROOFS = (
    Proof("read-secret", "read", SECRET, denied=True, message='apparmor="DENIED" operation="open"'),
    Proof("create-new", "create", _NEW, denied=True, message='apparmor="DENIED" operation="mknod"'),
    Proof("write-public", "write", PUBLIC, denied=False),
)
COMPLAINT_PROOFS = (
    Proof(
        "read-secret", "read", SECRET, denied=False, message='apparmor="ALLOWED" operation="open"'
    ),
    Proof("write-public", "write", PUBLIC, denied=False),
)


# Every profile of a stack logs a denial; after ten lines the kernel would drop the others.
_ALL_MESSAGES = write("/proc/sys/kernel/printk_ratelimit_burst", "1000")


def _steps(profiles: tuple[str, ...]) -> tuple[Step, ...]:
    loading = tuple(
        load(
            f"{_CONTROL}/.load",
            f"/etc/lsmeter/apparmor/{profile}.bin",
            title=f"loading the profile {profile}",
        )
        for profile in profiles
    )
    steps = (WORK, MAKE_PUBLIC, *loading)
    return (*steps, _ALL_MESSAGES) if len(profiles) > 1 else steps


def confined_setup(
    *,
    name: str,
    title: str,
    profiles: tuple[str, ...],
    mode: str,
    proofs: tuple[Proof, ...],
    over: str,
    note: str,
) -> Setup:
    """Return a setup whose workers are confined by all of `profiles`; mode: enforce or complain."""
    # The kernel sorts the profiles of a stack by name.
    label = "//&".join(sorted(profiles))
    return Setup(
        name=name,
        title=title,
        lsms=("apparmor",),
        cmdline=("apparmor=1",),
        expect=(
            Expectation("apparmor.enabled", "Y", "the module can be off although it is listed"),
            Expectation("apparmor.profiles", str(len(profiles)), "no other profile is to be there"),
            Expectation("worker.context", f"{label} ({mode})", "every worker must be confined"),
        ),
        needs_config=("SECURITY_APPARMOR",),
        image="policy",
        steps=_steps(profiles),
        confine=(("/proc/self/attr/apparmor/current", f"changeprofile {label}"),),
        proofs=proofs,
        over=over,
        layer=Layer.POLICY if mode == "enforce" else Layer.PERMISSIVE,
        note=note,
    )
