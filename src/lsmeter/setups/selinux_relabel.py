# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to label files anew: SELinux permissive, as at the start of a relabelled system."""

from dataclasses import replace

from lsmeter.model import Setup
from lsmeter.policy import Step, label, run
from lsmeter.setup import Parameter, Values, name_with, with_parameters
from lsmeter.setups import _selinux
from lsmeter.setups._selinux import XATTR

_PARAMETERS = (Parameter("files", "files relabelled", default=1000, minimum=1, maximum=20_000),)
_FEW, _MANY = "/srv/lsmeter/few", "/srv/lsmeter/many"
_CONTEXTS = "/etc/selinux/default/contexts/files/file_contexts"
_WRONG = "system_u:object_r:tmp_t:s0"


def _make(directory: str, files: int) -> tuple[Step, ...]:
    """Return what makes files that take a wrong label from their directory."""
    loop = f"i=0; while [ $i -lt {files} ]; do : > {directory}/f$i; i=$((i + 1)); done"
    return (
        Step("mkdir", (directory,)),
        label(directory, XATTR, _WRONG),
        run("/usr/bin/busybox", "sh", "-c", loop),
    )


def _relabel(directory: str, title: str) -> tuple[Step, ...]:
    """Return what labels them, and what fails if one is left that would be labelled."""
    left = f'test -z "$(setfiles -n -v {_CONTEXTS} {directory})"'
    return (
        run("/usr/sbin/setfiles", _CONTEXTS, directory, title=title),
        run("/usr/bin/busybox", "sh", "-c", left),
    )


def _configure(values: Values) -> Setup:
    files = values["files"]
    permissive = _selinux.setup(_selinux.DEFAULTS, enforcing=False)
    return replace(
        permissive,
        name=name_with("selinux-relabel", values, _PARAMETERS),
        title=f"SELinux permissive, after {files} files were labelled anew",
        steps=(
            *permissive.steps,
            *_make(_FEW, 1),
            *_make(_MANY, files),
            *_relabel(_FEW, "relabelling 1 file"),
            *_relabel(_MANY, f"relabelling {files} files"),
        ),
        over="selinux-permissive",
        note="for its one-off costs: files on an ext4 disk, contexts looked up by setfiles, which "
        "reads the policy's file contexts first; operations cost what they do without it",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
