# SPDX-License-Identifier: GPL-2.0-or-later
"""The kind of object that a hook guards, told from its name, and which hooks decide.

The class is that of the first prefix below that fits. The first fourteen are the rows of Table 5
of Zhang, Liu and Jaeger (ASIA CCS'21); the prefixes give its numbers for capability, SELinux,
AppArmor, TOMOYO and Yama on 5.3. The rest are what the table leaves out.
"""

from __future__ import annotations

import re

# class, and the prefixes or whole names (ending in $) of its hooks
CLASSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("inode", ("inode_",)),
    ("dentry", ("dentry_",)),
    ("file", ("file_",)),
    ("superblock", ("sb_",)),
    ("mmap", ("mmap_",)),
    ("path", ("path_",)),
    ("bprm", ("bprm_",)),
    ("task", ("task_",)),
    ("proc", ("getprocattr$", "setprocattr$")),
    ("ptrace", ("ptrace_",)),
    ("cap", ("capable$", "capget$", "capset$")),
    (
        "seclabel",
        ("secid_to_secctx$", "secctx_to_secid$", "release_secctx$", "lsmprop_to_secctx$"),
    ),
    ("cred", ("cred_",)),
    ("audit", ("audit_",)),
    ("mount", ("fs_context_", "move_mount$")),
    ("backing file", ("backing_file_",)),
    ("kernel", ("kernel_", "locked_down$")),
    ("ipc", ("ipc_", "msg_", "shm_", "sem_")),
    (
        "network",
        (
            "socket_",
            "sk_",
            "sock_",
            "inet_",
            "unix_",
            "tun_",
            "netlink_",
            "req_",
            "secmark_",
            "sctp_",
            "mptcp_",
        ),
    ),
    ("xfrm", ("xfrm_",)),
    ("infiniband", ("ib_",)),
    ("key", ("key_", "post_notification$", "watch_key$")),
    ("bpf", ("bpf",)),
    ("perf event", ("perf_event_",)),
    ("io_uring", ("uring_",)),
    ("block device", ("bdev_",)),
    ("binder", ("binder_",)),
    ("system", ("syslog$", "settime$", "vm_enough_memory$", "quotactl$", "quota_on$")),
)
TABLE5_CLASSES = tuple(name for name, _ in CLASSES[:14])
FILE_ACCESS_CLASSES = ("inode", "dentry", "file", "superblock", "path", "bprm")
OTHER = "other"

# Hooks of these classes ask whether a file may be used as the system call wants to…
_DECIDING_CLASSES = frozenset({"inode", "file", "path"})
# …but for those that make, end, label or copy security data, or come after the fact.
_NO_DECISION = re.compile(
    r"_(alloc|free|init|post|copy_up|release|invalidate|notify)(_|$)|^inode_(getsecurity|setsecurity"
    r"|listsecurity|getsecid|getlsmprop|need_killpriv|killpriv|setintegrity|setsecctx|getsecctx"
    r"|notifysecctx|xattr_skipcap)|set_fowner|_security$"
)


def object_class(hook: str) -> str:
    """Return the class of a hook; "other" when no prefix fits."""
    for name, prefixes in CLASSES:
        for prefix in prefixes:
            if hook == prefix[:-1] if prefix.endswith("$") else hook.startswith(prefix):
                return name
    return OTHER


def decides(hook: str, returns: str) -> bool:
    """Tell whether a hook is an authorisation of an access to a file.

    It returns int, is of the class inode, file or path, and is not about security data itself.
    """
    if returns != "int" or object_class(hook) not in _DECIDING_CLASSES:
        return False
    return not _NO_DECISION.search(hook)
