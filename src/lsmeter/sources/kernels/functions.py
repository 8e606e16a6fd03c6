# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells to which security module a kernel function belongs; pure.

Functions of a module are known by their prefix. Functions without one (`may_create`) are known
by their place: the linker keeps the objects of a directory together, so what lies between two
functions of one module is that module's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

FRAMEWORK = "framework"

# Prefixes of functions that nothing but the module defines; names of modules as in
# /sys/kernel/security/lsm. The longest prefix wins.
_PREFIXES: dict[str, tuple[str, ...]] = {
    "selinux": (
        *("selinux_", "avc_", "ebitmap_", "mls_", "policydb_", "sidtab_", "avtab_", "hashtab_"),
        *("sel_", "cond_compute_", "cond_policydb_", "context_struct_", "flush_unauthorized_"),
        *("services_compute_", "string_to_context_", "inode_has_perm", "inode_doinit"),
    ),
    "apparmor": ("apparmor_", "aa_", "aafs_", "aa_dfa_", "__aa_", "aa_label_", "unpack_"),
    "smack": ("smack_", "smk_"),
    "tomoyo": ("tomoyo_",),
    "landlock": ("landlock_", "hook_", "ruleset_", "__do_sys_landlock_"),
    "yama": ("yama_",),
    "loadpin": ("loadpin_",),
    "safesetid": ("safesetid_",),
    "lockdown": ("lockdown_", "lock_kernel_down"),
    "ipe": ("ipe_",),
    "capability": ("cap_",),
    "integrity": ("integrity_",),
    "ima": ("ima_", "__ima_", "process_measurement"),
    "evm": ("evm_", "__evm_"),
    "bpf": ("bpf_lsm_",),
    "tunable": ("tunable_",),
    "example": ("example_",),
    # Not all of inject_: virtual machines have interrupts injected.
    "inject": (
        *("inject_inode_", "inject_file_", "inject_rcu_file_", "inject_task_work"),
        *("inject_worker", "inject_outside_"),
    ),
}
_BY_LENGTH = sorted(
    ((prefix, module) for module, prefixes in _PREFIXES.items() for prefix in prefixes),
    key=lambda item: -len(item[0]),
)
# Too general to speak for every kernel: they count only beside the module's own functions.
_WEAK = frozenset({"hashtab_", "unpack_", "hook_", "ruleset_", "cap_", "mls_", "sel_"})
# How many symbols away from its neighbours of the same module a nameless function may lie. The
# largest gap in builds of 5.3 to 6.12 is well below; between modules the gap is crossed
# by a function of another module, which ends it.
_REACH = 400

# SELinux has functions of its own that are called like hooks (security/selinux/include/
# security.h and ss/services.c). Everything else called security_* is the framework's.
_SELINUX_NAMES = """
    bounded_transition change_sid compute_av compute_av_user compute_sid compute_validatetrans
    compute_xperms_decision context_str_to_sid context_to_sid context_to_sid_core
    context_to_sid_default context_to_sid_force dump_masked_av fs_use genfs_sid
    get_allow_unknown get_bool_value get_bools get_classes get_initial_sid_context
    get_permissions get_reject_unknown get_user_sids ib_endport_sid ib_pkey_sid load_policy
    load_policycaps
    member_sid mls_enabled net_peersid_resolve netif_sid netlbl_cache_add netlbl_secattr_to_sid
    netlbl_sid_to_secattr node_sid policycap_supported policydb_context_isvalid policydb_len
    port_sid preserve_bools read_policy read_state_kernel set_bools sid_mls_copy sid_to_context
    sid_to_context_core sid_to_context_force sid_to_context_inval sidtab_hash_stats
    transition_sid transition_sid_user validate_transition validate_transition_user
    validtrans_handle_fail
"""
_SELINUX_NOT_HOOKS = frozenset(f"security_{name}" for name in _SELINUX_NAMES.split())
_NOT_HOOKS = _SELINUX_NOT_HOOKS | {
    # The framework's own start-up, which decides nothing.
    *("security_init", "security_add_hooks", "security_module_enable"),
    # Functions of file systems (reiserfs) and drivers (nvdimm, thunderbolt: sysfs) of that name.
    *("security_list", "security_show", "security_store"),
}
# Since 6.19, for each stage of the kernel's start: security_initcall_early and so on.
_START_UP_PREFIX = "security_initcall_"


@lru_cache(maxsize=1 << 16)
def base_name(name: str) -> str:
    """Return a function's name without what the compiler appended (`.isra.0`, `.part.0`)."""
    return name.partition(".")[0]


def is_hook(name: str) -> bool:
    """Say whether a function is a hook: a call site `security_*` of the framework."""
    base = base_name(name)
    named = base.startswith("security_") and not base.startswith(_START_UP_PREFIX)
    return named and base not in _NOT_HOOKS


def assign_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Return the module of each function, "" for the rest of the kernel.

    names must be in the order of their addresses.
    """
    strong = [_strong(name) for name in names]
    found = list(strong)
    previous = -1
    for index, module in enumerate(strong):
        if not module:
            continue
        if previous >= 0 and strong[previous] == module and index - previous <= _REACH:
            found[previous + 1 : index] = [module] * (index - previous - 1)
        previous = index
    # Among LSMs only the capability module has names that begin with cap_.
    return tuple(
        module or ("capability" if _prefix(name)[0] == "cap_" else "")
        for module, name in zip(found, names, strict=True)
    )


def _strong(name: str) -> str:
    """Return the module that the name alone proves."""
    if base_name(name) in _SELINUX_NOT_HOOKS:
        return "selinux"
    if is_hook(name):
        return FRAMEWORK
    prefix, module = _prefix(name)
    return "" if prefix in _WEAK else module


def _prefix(name: str) -> tuple[str, str]:
    """Return the longest prefix that a function's name begins with, and its module."""
    return next((item for item in _BY_LENGTH if name.startswith(item[0])), ("", ""))
