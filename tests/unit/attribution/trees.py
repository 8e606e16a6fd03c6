# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees for tests: written as nested tuples, or drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from lsmeter.questions.attribution.cost import Cost
from lsmeter.questions.attribution.profile import Context, Function, Node, Tree
from lsmeter.sources.kernels.functions import assign_modules

# (name, calls, own instructions, what it called)
Spec = tuple[str, int, int, tuple["Spec", ...]]

NAMES = (
    *("[user]", "[interrupt]", "[resumed]", "entry_SYSCALL_64", "vfs_open", "dput"),
    *("security_file_open", "security_inode_permission", "selinux_file_open", "avc_has_perm"),
    *("cap_capable", "security_compute_av", "handle_softirqs", "rcu_do_batch", "task_work_run"),
)


def function(name: str) -> Function:
    return Function(name, assign_modules((name,))[0])


def tree(*roots: Spec) -> Tree:
    nodes: list[Node] = []

    def add(spec: Spec, parent: int) -> None:
        name, calls, own, below = spec
        nodes.append(Node(parent, function(name), calls, own))
        here = len(nodes) - 1
        for child in below:
            add(child, here)

    for root in roots:
        add(root, -1)
    return Tree(sum(node.self_insns for node in nodes), tuple(nodes))


def by_context(cost: Cost) -> dict[Context, float]:
    """Sum the instructions of a cost by context."""
    found: dict[Context, float] = {}
    for site, amount in cost.sites.items():
        found[site.context] = found.get(site.context, 0) + amount.insns
    return found


def nodes_text(of: Tree) -> str:
    """Write the nodes of a tree as the plugin does."""
    lines = []
    for index, node in enumerate(of.nodes, 1):
        module = f"@{node.function.module}" if node.function.module else ""
        name = node.function.name + module
        lines.append(f"n {index} {node.parent + 1} {node.calls} {node.self_insns} {name}\n")
    return "".join(lines)


@st.composite
def any_tree(draw: st.DrawFn) -> Tree:
    size = draw(st.integers(1, 25))
    nodes = tuple(
        Node(
            draw(st.integers(-1, index - 1)),
            function(draw(st.sampled_from(NAMES))),
            draw(st.integers(0, 5)),
            draw(st.integers(-1, 1000)),
        )
        for index in range(size)
    )
    return Tree(sum(node.self_insns for node in nodes), nodes)
