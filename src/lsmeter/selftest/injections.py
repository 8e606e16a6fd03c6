# SPDX-License-Identifier: GPL-2.0-or-later
"""The costs that `--setup inject:cost=NAME` injects; pure.

One boot can have many costs, since each benchmark meets the places of its own operation only:
getattr is stat's, setattr chmod's, permission that of read and write.
"""

from __future__ import annotations

from collections.abc import Mapping

from lsmeter.selftest.costs import Cost, Injection, Place

# Shares that a period of 100 calls gives evenly. rename meets its place twice, in the operation
# and in its undo: where the period is even, each of the two would see a share of its own.
_TEN = tuple(range(20, 1020, 100))  # mean 470

_ALL = (
    Injection("none", "nothing"),
    Injection(
        "rows",
        "costs that a typical count does not show",
        (
            Cost(Place.GETATTR, (500,), share=40),
            Cost(Place.OPEN, (500,), share=55),
            Cost(Place.RENAME, (5000,), random=45),
            Cost(Place.SETATTR, (32000,), every=64),
            Cost(Place.RMDIR, (500,), share=60),
            Cost(Place.PERMISSION, _TEN),
            Cost(Place.FILE_FREE, (1000,)),
            Cost(Place.RCU, (5000,)),
        ),
    ),
    Injection(
        "even",
        "shares of the calls, evenly spread",
        (
            Cost(Place.GETATTR, (500,)),
            Cost(Place.SETATTR, (500,), share=10),
            Cost(Place.CREATE, (500,), share=40),
            Cost(Place.MKDIR, (500,), share=55),
            Cost(Place.RENAME, (500,), share=60),
            Cost(Place.PERMISSION, (500,), share=90),
        ),
    ),
    Injection(
        "random",
        "shares of the calls, in no period",
        (
            Cost(Place.GETATTR, (500,), random=10),
            Cost(Place.SETATTR, (500,), random=40),
            Cost(Place.CREATE, (500,), random=55),
            Cost(Place.MKDIR, (500,), random=60),
            Cost(Place.RENAME, (500,), random=90),
        ),
    ),
    Injection(
        "rare",
        "every 8th, 64th and 1,000th call",
        (
            Cost(Place.GETATTR, (2000,), every=8),
            Cost(Place.SETATTR, (16000,), every=64),
            Cost(Place.PERMISSION, (200000,), every=1000),
        ),
    ),
    Injection(
        "free",
        "the release of files and inodes",
        (Cost(Place.FILE_FREE, (1000,)), Cost(Place.INODE_FREE, (700,))),
    ),
    Injection(
        "elsewhere",
        "an RCU callback, task work, a worker, code outside of hooks",
        (
            Cost(Place.RCU, (5000,)),
            Cost(Place.TASK, (500,)),
            Cost(Place.WORK, (2000,)),
            Cost(Place.OUTSIDE, (500,)),
        ),
    ),
    Injection("blob", "a blob of each inode that is 1,000 bytes larger", blob_bytes=1000),
    Injection(
        "flat",
        "500 instructions in each call",
        (
            Cost(Place.GETATTR, (500,)),
            Cost(Place.SETATTR, (500,)),
            Cost(Place.RENAME, (500,)),
            Cost(Place.PERMISSION, (500,)),
        ),
    ),
    Injection(
        "cancel",
        "0 instructions in half of the calls and 1,000 in the others",
        (
            Cost(Place.GETATTR, (0, 1000)),
            Cost(Place.SETATTR, (1000,), share=50),
            Cost(Place.RENAME, (1000,), random=50),
            Cost(Place.PERMISSION, (1000,), random=50),
        ),
    ),
)

INJECTIONS: Mapping[str, Injection] = {item.name: item for item in _ALL}
