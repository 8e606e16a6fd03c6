# SPDX-License-Identifier: GPL-2.0-or-later
"""What lsmeter changes of a machine, on real SELinux, AppArmor and cgroups."""

from __future__ import annotations

import pytest

from lsmeter.measure.results.directory import read_run
from tests.hosts.guest_host import GuestHost

pytestmark = pytest.mark.guest


def verified(host: GuestHost, *names: str) -> dict[str, tuple[str, ...]]:
    """Return by setup how the block of the script's run ended, and these facts of it."""
    run = read_run(host.said / "run")
    setups = {cell.hash: cell.place.setup for cell in run.manifest.cells}
    return {
        setups[boot.cell_hash]: (
            boot.status.value,
            *(dict(boot.facts).get(name, "") for name in names),
        )
        for boot in run.boots
    }


def values(out: str) -> dict[str, str]:
    """Return the lines `NAME: VALUE` of a script's output."""
    return {key: value for key, _, value in (line.partition(": ") for line in out.splitlines())}


SELINUX = """
mount -t selinuxfs s /sys/fs/selinux
dd if=/mnt/policy/etc/selinux/default/policy/policy.33 of=/sys/fs/selinux/load bs=16M
# What was mounted before there was a policy has no labels, and what is enforced would refuse it.
mount -t tmpfs -o rootcontext=system_u:object_r:tmp_t:s0 run /run
mkdir /run/tmp && cd /run
settings() { cd /sys/fs/selinux; echo "$1: $(cat enforce) $(cat avc/cache_threshold)"; cd /run; }
echo 700 >/sys/fs/selinux/avc/cache_threshold
settings before
$measure -s running-selinux:mode=permissive,avc=64 -s running-selinux --run-dir run; echo "exit $?"
settings after
cp -r run /mnt/said
$measure -s running-selinux:mode=enforcing,avc=99 --boots 500 --run-dir killed >out 2>&1 &
process=$!
wait_for '[ "$(cat /sys/fs/selinux/avc/cache_threshold)" = 99 ]'
kill -KILL $process
wait $process
settings killed
$lsmeter here restore; echo "exit $?"
settings restored
"""


def test_selinux_permissive_and_enforcing_are_verified_and_put_back(host: GuestHost) -> None:
    out = host.run(SELINUX, "lsm=capability,landlock,selinux", "selinux=1", "enforcing=0")
    assert out.count("exit 0") == 2, out
    lines = values(out)
    assert lines["before"] == lines["after"] == lines["restored"] == "0 700", out
    assert lines["killed"] == "1 99"
    names = ("selinux.policy_loaded", "selinux.enforce", "selinux.avc_threshold")
    assert verified(host, *names) == {
        "running": ("ok", "1", "0", "700"),
        "running again": ("ok", "1", "0", "700"),
        "running-selinux:mode=permissive,avc=64": ("ok", "1", "0", "64"),
        "running-selinux": ("ok", "1", "1", "512"),
    }


APPARMOR = """
mkdir bin
cat >bin/apparmor_parser <<'END'
#!/bin/sh
LD_LIBRARY_PATH=/mnt/policy/usr/lib/x86_64-linux-gnu exec /mnt/policy/usr/sbin/apparmor_parser \\
    --config-file /mnt/policy/etc/apparmor/parser.conf "$@"
END
chmod 755 bin/apparmor_parser
export PATH=/run/bin:$PATH
cp -r /mnt/policy/usr/share/apparmor-features /usr/share
profiles() { echo "$1: $(grep -c lsmeter-here /sys/kernel/security/apparmor/profiles)"; }
all="-s running-apparmor:mode=unconfined -s running-apparmor:mode=complain -s running-apparmor"
$measure $all --run-dir run; echo "exit $?"
profiles after
cp -r run /mnt/said
$measure -s running-apparmor --boots 500 --run-dir killed >out 2>&1 &
process=$!
wait_for 'grep -q lsmeter-here-enforce /sys/kernel/security/apparmor/profiles'
kill -KILL $process
wait $process
profiles killed
$lsmeter here restore; echo "exit $?"
profiles restored
"""


def test_apparmor_in_every_mode_is_verified_and_put_back(host: GuestHost) -> None:
    out = host.run(APPARMOR, "lsm=capability,landlock,apparmor", "apparmor=1")
    assert out.count("exit 0") == 2, out
    lines = values(out)
    assert (lines["after"], lines["killed"], lines["restored"]) == ("0", "1", "0"), out
    assert "put back, after a lsmeter that was killed: AppArmor's profile" in out
    names = ("worker.context", "proof.read-outside", "proof.create-outside", "proof.write-public")
    assert verified(host, *names) == {
        "running": ("ok", "unconfined", "", "", ""),
        "running again": ("ok", "unconfined", "", "", ""),
        "running-apparmor:mode=unconfined": ("ok", "unconfined", *("allowed",) * 3),
        "running-apparmor:mode=complain": (
            *("ok", "lsmeter-here-complain (complain)", *("allowed",) * 3),
        ),
        "running-apparmor": (
            *("ok", "lsmeter-here-enforce (enforce)", "denied", "denied", "allowed"),
        ),
    }


TUNE = """
home=/sys/fs/cgroup
state() {
    echo "$1: aslr $(cat /proc/sys/kernel/randomize_va_space)," \\
        "cpuset $(grep -c cpuset $home/cgroup.subtree_control)," \\
        "groups $(ls -d $home/lsmeter-* 2>/dev/null | wc -l)," \\
        "isolated $(cat $home/cpuset.cpus.isolated)"
}
state before
$measure -s running --tune --run-dir run; echo "exit $?"
state after
cp -r run /mnt/said
$measure -s running --tune --boots 500 --run-dir killed >out 2>&1 &
process=$!
wait_for '[ -n "$(cat $home/lsmeter-*/cgroup.procs 2>/dev/null)" ]'
state during
kill -KILL $process
wait $process
state killed
$lsmeter here restore; echo "exit $?"
state restored
ls /run/tmp
"""


def test_what_tune_changes_is_real_and_put_back(host: GuestHost) -> None:
    out = host.run(TUNE, "lsm=capability,landlock")
    assert out.count("exit 0") == 2, out
    lines = values(out)
    assert lines["before"] == lines["after"] == "aslr 2, cpuset 0, groups 0, isolated ", out
    assert lines["during"] == lines["killed"] == "aslr 0, cpuset 1, groups 1, isolated 1", out
    assert lines["restored"] == lines["before"], out
    assert set(verified(host, "host.cpuset", "host.aslr").values()) == {("ok", "1", "0")}
