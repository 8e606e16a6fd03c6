# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells in which context of the kernel each part of a call tree ran; pure.

A system call leaves work behind that others do later: interrupts, softirqs, RCU callbacks,
workqueues, kernel threads. The functions that run such work are few and have kept their names, so
a tree alone tells the contexts apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from lsmeter.hooks.attribution.modules import base_name
from lsmeter.hooks.attribution.profile import INTERRUPT, RESUMED, USER, Tree


class Context(StrEnum):
    """Where code runs. What is not in line is not in a reading of the call, but in its whole cost.

    Task work runs when a system call returns to user space (the release of a closed file): apart,
    but in line.
    """

    CALL = "system call"
    TASK_WORK = "task work"
    INTERRUPT = "interrupt"
    SOFTIRQ = "softirq"
    RCU = "RCU callback"
    WORKQUEUE = "workqueue"
    THREAD = "kernel thread"
    USER = "user"

    @property
    def inline(self) -> bool:
        """Whether the caller waits for it."""
        return self is Context.CALL or self is Context.TASK_WORK


_ROOTS = {
    USER: Context.USER,
    INTERRUPT: Context.INTERRUPT,
    # What is known of a task that was in the kernel before: nearly always a kernel thread.
    RESUMED: Context.THREAD,
}
# Functions that run work of a context, by the kernels that have them.
_RUNNERS = {
    "__do_softirq": Context.SOFTIRQ,
    "handle_softirqs": Context.SOFTIRQ,  # of newer kernels and stable releases of older ones
    "rcu_do_batch": Context.RCU,
    "rcu_process_callbacks": Context.RCU,  # of a kernel for one processor (CONFIG_TINY_RCU)
    "rcu_tasks_invoke_cbs": Context.RCU,
    "srcu_invoke_callbacks": Context.RCU,
    "kfree_rcu_work": Context.RCU,
    "task_work_run": Context.TASK_WORK,
    "process_one_work": Context.WORKQUEUE,
    "kthread": Context.THREAD,
}


# Where rcu_do_batch is inlined, rcu_core itself calls the callbacks, and besides them only these.
_RCU_CORE = "rcu_core"
_RCU_OWN = (
    *("rcu_segcblist_", "rcu_cblist_", "rcu_accelerate_", "rcu_advance_", "rcu_report_"),
    *("rcu_disable_", "rcu_nocb_", "rcu_rdp_", "rcu_gp_", "rcu_start_", "rcu_check_", "rcu_stall_"),
    *("note_gp_", "__note_gp_", "invoke_rcu_", "do_nocb_", "wake_nocb_", "__wake_nocb_"),
    *("_raw_spin_", "raise_softirq", "__raise_softirq", "local_clock", "sched_clock", "jiffies_"),
    *("set_need_resched", "resched_", "irq_work_", "queue_work", "queue_delayed_work", "asm_"),
    *("__local_bh_", "_local_bh_", "rcu_do_batch", "rcu_all_qs", "rcu_qs", "swake_up_"),
)


@lru_cache(maxsize=1 << 16)
def _runner(name: str) -> Context | None:
    return _RUNNERS.get(base_name(name))


def _is_callback(caller: str, name: str) -> bool:
    return base_name(caller) == _RCU_CORE and not name.startswith(_RCU_OWN)


def contexts(tree: Tree) -> Sequence[Context]:
    """Return the context of each node of a tree."""
    found: list[Context] = []
    for node in tree.nodes:
        name = node.function.name
        if node.parent < 0:
            context = _ROOTS.get(name, Context.CALL)
        else:
            context = _runner(name) or found[node.parent]
            caller = tree.nodes[node.parent].function.name
            if caller.startswith(_RCU_CORE) and _is_callback(caller, name):
                context = Context.RCU
        found.append(context)
    return found
