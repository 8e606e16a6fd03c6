# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the walk does not enter, and functions that run rarely, each with its reason.

Without barriers nearly every hook is reachable from every system call, by ways that are no part of
the call: memory may run short anywhere, and any pointer may be the last one to a mount. What is
rare is followed, and counts among the most that a call can do, but not as an ordinary one.
"""

from __future__ import annotations

import re

BARRIERS: tuple[tuple[str, str], ...] = (
    (
        (
            r"_*(alloc_pages|alloc_frozen_pages|folio_alloc|kmalloc|kmem_cache_alloc|vmalloc|kvmalloc"
            r"|try_to_free_pages|shrink_|reclaim_|try_charge|mem_cgroup_|out_of_memory|drop_slab).*"
        ),
        "memory runs short: reclaim may free any object",
    ),
    (
        (
            r"(handle_mm_fault|.*get_user_pages.*|fixup_user_fault|faultin_page|fault_in_.*"
            r"|pin_user_pages.*)"
        ),
        "a page fault on the caller's buffer",
    ),
    (
        (
            r"(schedule.*|__schedule|wait_for_completion.*|task_work_run|task_work_add|do_exit"
            r"|do_group_exit|get_signal|do_coredump|vfs_coredump|force_.*sig.*|send_sig.*|kill_.*"
            r"|do_send_sig_info|resume_user_mode_work|queue_work.*|mod_delayed_work.*|call_rcu.*"
            r"|schedule_work.*|queue_delayed_work.*|synchronize_.*|kthread_.*)"
        ),
        "other work that the scheduler, signals or queues run",
    ),
    (
        (
            r"(folio_put.*|__folio_put.*|folios_put.*|put_page.*|release_pages|free_huge_.*|pagevec_.*"
            r"|truncate_inode_pages.*|invalidate_.*pages.*|percpu_ref_put.*|kfree.*|kvfree.*)"
        ),
        "the last use of memory gives it back",
    ),
    (
        (
            r"(do_writepages|filemap_write_and_wait.*|filemap_fdatawrite.*|filemap_writeback.*"
            r"|__writeback_single_inode|writeback_.*|balance_dirty_pages.*|wb_put.*)"
        ),
        "dirty pages are written to the disk",
    ),
    (
        r"(request_module|__request_module|call_usermodehelper.*|try_then_request_module)",
        "a program that the kernel starts",
    ),
    (
        r"(audit_log.*|audit_panic|__audit_.*|audit_filter.*|audit_inode.*)",
        "an audit record is written",
    ),
    (
        (
            r"(cleanup_mnt|deactivate_super|deactivate_locked_super|kill_.*super|generic_shutdown_super"
            r"|put_super|__put_super|umount_tree|mntput_no_expire.*|put_mountpoint|follow_automount)"
        ),
        "the last use of a mount ends it",
    ),
    (
        (
            r"(fsnotify_destroy_.*|fsnotify_put_.*|fanotify_.*|inotify_.*|dnotify_.*|fsnotify_handle.*"
            r"|send_to_group|fsnotify_insert_event|__fsnotify_.*|fsnotify)"
        ),
        "a program watches the file",
    ),
    (
        (
            r"(process_measurement|process_buffer_measurement|ima_must_.*|ima_match_policy"
            r"|ima_check_last_writer|evm_verify_.*|evm_protect_xattr|evm_update_evmxattr|evm_calc_.*)"
        ),
        "a rule of IMA is for the file, or EVM has a key",
    ),
    (r"(put_cred_rcu|__put_cred|put_task_struct|__put_task_struct)", "the last use of a task"),
    (r"(bdev_open.*|blkdev_.*|bd_.*|lookup_bdev|super_setup_bdev.*)", "a block device is opened"),
)

RARE: tuple[tuple[str, str], ...] = (
    (r"pick_link|nd_jump_link", "a symbolic link is in the path"),
    (r"(__)?lookup_slow", "a name in the path is not in the cache"),
    (
        r"capable_wrt_inode_uidgid|inode_owner_or_capable",
        "the file's mode or owner says no, and a capability is asked for",
    ),
    (r"fput", "the last use of a file that was never opened frees it at once"),
    (r"(__)?dput.*|dentry_kill|shrink_dcache.*", "the last use of a name drops it from the cache"),
    (
        r"__remove_privs|__file_remove_privs",
        "the file that is written is setuid or has capabilities",
    ),
    (r"__break_lease|break_deleg_wait|break_layout", "another program holds a lease on the file"),
    (r"fscrypt_.*|fsverity_.*|__fsverity_.*", "the file is encrypted or has a verity tree"),
    (r"ext4_xattr_inode_.*", "an extended attribute has an inode of its own (ea_inode)"),
    (r".*_(inline_data|inline_dir).*", "the file's data is in its inode (inline_data)"),
    (r"dquot_.*|ext4_orphan_.*|.*_cow_.*|xfs_reflink_.*", "quota, orphans and shared blocks"),
)

_RARE = re.compile("|".join(f"(?:{pattern})" for pattern, _ in RARE))
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern, _ in BARRIERS))


def is_barrier(function: str) -> bool:
    """Tell whether the walk ends at a function of this name."""
    return _ANY.fullmatch(function) is not None


def is_rare(function: str) -> bool:
    """Tell whether a function of this name is no part of an ordinary call."""
    return _RARE.fullmatch(function) is not None
