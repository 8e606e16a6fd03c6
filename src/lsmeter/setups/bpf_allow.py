# SPDX-License-Identifier: GPL-2.0-or-later
"""An allow-list of directories in a BPF map, asked at each directory of a path and each opening."""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import TRY, WORK, WORK_DIRECTORY, Layer, Proof, SetupFile, Step, run
from lsmeter.setup import Parameter, Values, name_with, with_parameters

_PARAMETERS = (
    Parameter("entries", "entries of the list", default=1000, minimum=2, maximum=100_000),
)
_LISTED, _UNLISTED = f"{WORK_DIRECTORY}/listed", f"{WORK_DIRECTORY}/unlisted"


def _configure(values: Values) -> Setup:
    entries = values["entries"]
    return Setup(
        name=name_with("bpf-allow", values, _PARAMETERS),
        title=f"BPF programs with an allow-list of {entries} directories in a hash map",
        lsms=("bpf",),
        expect=(Expectation("bpf", "1", "the kernel must call the programs"),),
        needs_config=("BPF_LSM", "DEBUG_INFO_BTF"),
        files=(SetupFile("lsmeter-bpf", program="lsmeter-bpf"),),
        steps=(
            WORK,
            *(Step("mkdir", (path,)) for path in (_UNLISTED, _LISTED)),
            *(Step("own", (path,)) for path in (_UNLISTED, _LISTED)),
            *(Step("file", (f"{path}/file", "x")) for path in (_UNLISTED, _LISTED)),
            TRY,
            run(
                *("/setup/lsmeter-bpf", "allow", str(entries), WORK_DIRECTORY, _LISTED),
                title="loading the programs and their list",
            ),
        ),
        proofs=(
            Proof("unlisted", "read", f"{_UNLISTED}/file", denied=True),
            Proof("unlisted-stat", "stat", f"{_UNLISTED}/file", denied=True),
            Proof("unlisted-create", "create", f"{_UNLISTED}/new", denied=True),
            Proof("listed", "read", f"{_LISTED}/file", denied=False),
            Proof("listed-create", "create", f"{_LISTED}/new", denied=False),
        ),
        over="bpf",
        layer=Layer.POLICY,
        note="the list is about the benchmarks' file system; a directory made later follows the "
        "one that it is in",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
