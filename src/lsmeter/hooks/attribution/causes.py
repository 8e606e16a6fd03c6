# SPDX-License-Identifier: GPL-2.0-or-later
"""Says why code outside of hooks costs more, where the call trees prove it; pure.

A cause is a line of the table below: the functions that are called more often if it holds, and
the functions outside of hooks whose change it accounts for. One that no tree proves is not
stated, and what no cause accounts for stays without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum

from lsmeter.hooks.attribution.modules import base_name

_LEAST_INSNS = 1.0  # of a cause that is worth a line
_LEAST_CALLS = 0.005  # more calls of an operation: below it is chance in the background


@dataclass(frozen=True)
class Delta:
    """How one function changed from the baseline to the tested side, per operation.

    insns are its own instructions. inside: below a hook.
    """

    function: str
    calls: float
    insns: float
    inside: bool = False


@dataclass(frozen=True)
class Cause:
    """Why code outside of hooks changed, and the instructions of an operation that this explains.

    functions are those that it accounts for, with their part, the largest first. evidence names
    the functions that are called more often, with how much more.
    """

    words: str
    insns: float
    functions: tuple[tuple[str, float], ...]
    evidence: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class _Rule:
    """Patterns are of whole names without what the compiler appended."""

    words: str
    evidence: re.Pattern[str]
    accounts: re.Pattern[str]


def _rule(words: str, evidence: str, accounts: str) -> _Rule:
    return _Rule(words, re.compile(evidence), re.compile(accounts))


_LEAVES_RCU_MODE = "the path walk leaves RCU mode"
# The first rule that accounts for a function has it.
_RULES = (
    _rule(
        _LEAVES_RCU_MODE,
        # Since a refusal is repeated with references held, permission is asked for once more.
        r"try_to_unlazy(_next)?|unlazy_(walk|child)|d_lookup|__d_lookup|lockref_get|"
        r"inode_permission",
        r"try_to_unlazy(_next)?|unlazy_(walk|child)|_?_?legitimize_\w+|(__)?d_lookup(_rcu\w*)?|"
        r"d_same_name|lookup_fast|(__)?lookup_mnt|__traverse_mounts|__follow_mount_rcu|step_into|"
        r"walk_component|link_path_walk|complete_walk|terminate_walk|path_(put|get|init)|"
        r"set_root|nd_jump_root|lockref_\w+|dput|mntput(_no_expire)?|mntget|"
        r"(inode|generic)_permission",
    ),
    _rule(
        "larger or more objects are cleared",
        r"_?_?memset(_erms|_orig)?|clear_page_\w+",
        r"_?_?memset(_erms|_orig)?|clear_page_\w+",
    ),
    _rule(
        "larger or more objects: slabs are refilled and given back more often",
        r"___slab_alloc|__slab_alloc|__slab_free|allocate_slab|new_slab",
        r"_{0,3}slab_alloc|__slab_free|allocate_slab|new_slab|get_(any_)?partial\w*|"
        r"put_cpu_partial|_?_?unfreeze_partials|deactivate_slab|discard_slab|_?_?free_slab|"
        r"rcu_free_slab|setup_object|shuffle_freelist|inode_init_once|cmpxchg_double_slab|"
        r"slab_update_freelist|(__)?alloc_pages|get_page_from_freelist|rmqueue\w*|prep_new_page|"
        r"post_alloc_hook|free_unref_page\w*|free_pcp\w*|free_one_page|_?_?free_pages\w*|"
        r"__mod_zone_page_state|_?_?zone_watermark_ok|policy_node\w*|_?_?rmqueue_\w+",
    ),
    _rule(
        "extended attributes are made with new files, and freed with them",
        r"simple_xattr_(alloc|add|set)|\w+_initxattrs|__vfs_setxattr\w*",
        r"simple_xattrs?_\w+|\w+_initxattrs|kvfree|kfree|__kmem_cache_free|is_vmalloc_addr|"
        r"shmem_evict_inode|ext4_xattr_\w+",
    ),
    _rule(
        "RCU has more callbacks to run",
        r"call_rcu|__call_rcu\w*|kvfree_call_rcu|rcu_cblist_dequeue",
        r"rcu_\w+|call_rcu|__call_rcu\w*|_?_?note_gp_changes|invoke_rcu_core|kvfree_call_rcu",
    ),
    _rule(
        "kernel threads are woken more often",
        r"try_to_wake_up|wake_up_process",
        r"_?_?schedule(_timeout)?|pick_next_\w+|put_prev_\w+|set_next_\w+|(de|en)queue_\w+|"
        r"update_(load_avg|curr|rq_clock|min_vruntime|cfs_group)|__update_load_avg_\w+|psi_\w+|"
        r"record_times|try_to_wake_up|ttwu_\w+|wake_up_process|check_preempt_\w+|place_entity|"
        r"finish_task_switch|__switch_to(_asm)?|switch_mm\w*|swake_up_\w+|hrtick_update|"
        r"(prepare_to|finish)_\w*wait\w*|native_sched_clock|sched_clock(_cpu)?|clear_buddies|"
        r"check_(cfs_rq_runtime|spread)|cpuacct_charge|handle_softirqs|__do_softirq|"
        r"rb_(insert_color|erase|next)|__mod_timer|__timer_delete_sync|save_fpregs_to_fpstate",
    ),
)


def find_causes(changes: Iterable[Delta]) -> tuple[Cause, ...]:
    """Return the causes that the changes prove, the largest first."""
    known = list(changes)
    calls: dict[str, float] = {}
    for change in known:
        name = base_name(change.function)
        calls[name] = calls.get(name, 0.0) + change.calls
    left = [change for change in known if not change.inside]
    found = []
    for rule in _RULES:
        evidence = sorted(
            (name, count)
            for name, count in calls.items()
            if count > _LEAST_CALLS and rule.evidence.fullmatch(name)
        )
        if not evidence:
            continue
        mine, others = _split(left, rule.accounts)
        insns = fsum(item.insns for item in mine)
        if insns < _LEAST_INSNS:
            continue
        left = others
        words = rule.words
        if words == _LEAVES_RCU_MODE:
            words += _refused_by(known)
        found.append(Cause(words, insns, _by_function(mine), tuple(evidence)))
    return tuple(sorted(found, key=lambda item: -item.insns))


def _split(changes: Iterable[Delta], pattern: re.Pattern[str]) -> tuple[list[Delta], list[Delta]]:
    """Return those whose function's name fits, and the others."""
    fitting: list[Delta] = []
    others: list[Delta] = []
    for item in changes:
        fits = pattern.fullmatch(base_name(item.function))
        (fitting if fits else others).append(item)
    return fitting, others


def _refused_by(changes: Iterable[Delta]) -> str:
    """Name the module's function that refuses to answer in RCU mode, where only one can be it."""
    names = {
        change.function
        for change in changes
        if change.inside
        and change.calls > _LEAST_CALLS
        and re.fullmatch(r"(?!security_)\w+_inode_permission", base_name(change.function))
    }
    return f" ({names.pop()} refuses MAY_NOT_BLOCK)" if len(names) == 1 else ""


def _by_function(changes: Iterable[Delta]) -> tuple[tuple[str, float], ...]:
    found: dict[str, list[float]] = {}
    for change in changes:
        found.setdefault(change.function, []).append(change.insns)
    sums: Mapping[str, float] = {name: fsum(parts) for name, parts in found.items()}
    return tuple(sorted(sums.items(), key=lambda item: (-abs(item[1]), item[0])))
