# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole small trees: which hooks a system call reaches, how often, by which way, on which files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.questions.hooks.source.analysis import MAX_FILE_BYTES, analyse
from lsmeter.questions.hooks.source.model import Count, HookUse, SourceAnalysis
from lsmeter.questions.hooks.source.syntax import read_file
from tests.unit.hooks_source.conftest import HOOK_DEFS, SECURITY_C

Writer = Callable[..., Path]
BOTH = ("alpha", "beta")


def found(root: Path, *filesystems: str) -> SourceAnalysis:
    return analyse(root, cache=False, filesystems=filesystems or BOTH)


def uses(analysis: SourceAnalysis, syscall: str, filesystem: str) -> dict[str, HookUse]:
    for one in analysis.syscalls:
        if (one.syscall, one.filesystem) == (syscall, filesystem):
            return {use.interface.removeprefix("security_"): use for use in one.hooks}
    raise AssertionError(f"{syscall} was not analysed on {filesystem}")


def verdicts(analysis: SourceAnalysis, syscall: str) -> dict[str, tuple[str, str]]:
    return {
        one.module: (str(one.decisions), one.verdict)
        for one in analysis.mediation
        if one.syscall == syscall and one.filesystem == "alpha"
    }


def test_open_asks_once_per_component_and_more_in_retries(tree: Writer) -> None:
    use = uses(found(tree()), "open", "alpha")
    assert use["inode_permission"].ordinary == Count(constant=1, per_component=1)
    # three walks, in each two checks per component and one of the file itself
    assert use["inode_permission"].most == Count(constant=3, per_component=6)
    assert (use["file_open"].ordinary, use["file_open"].most) == (Count(1), Count(3))
    assert use["inode_follow_link"].ordinary == Count(), "no link is in an ordinary path"
    assert use["inode_follow_link"].most == Count(per_component=3)


def test_the_chain_is_that_of_the_source(tree: Writer) -> None:
    chain = uses(found(tree()), "open", "alpha")["inode_permission"].chain
    assert chain[:3] == ("sys_open", "do_filp_open", "path_openat")
    assert chain[-2:] == ("inode_permission", "security_inode_permission")


def test_tables_of_operations_are_those_of_the_file_system(tree: Writer) -> None:
    analysis = found(tree())
    assert uses(analysis, "chmod", "alpha")["inode_permission"].ordinary == Count(1)
    assert "inode_permission" not in uses(analysis, "chmod", "beta")
    assert set(uses(analysis, "chmod", "beta")) == {"inode_setattr"}


def test_a_jump_back_for_a_stale_handle_counts_among_the_most(tree: Writer) -> None:
    mkdir = uses(found(tree()), "mkdir", "beta")["path_mkdir"]
    assert (mkdir.ordinary, mkdir.most) == (Count(1), Count(2))


def test_modules_that_act(tree: Writer) -> None:
    acting = {one.name: one.modules for one in found(tree()).interfaces}
    assert acting["security_file_open"] == ("demo", "pathy")
    assert acting["security_inode_permission"] == ("demo",)
    assert acting["security_file_permission"] == ()


def test_decisions_against_the_least(tree: Writer) -> None:
    analysis = found(tree())
    assert verdicts(analysis, "open") == {"demo": ("d+2", "over-worked"), "pathy": ("1", "fewer")}
    assert verdicts(analysis, "read") == {"demo": ("0", "unmediated"), "pathy": ("0", "unmediated")}
    assert verdicts(analysis, "close") == {
        "demo": ("0", "none needed"),
        "pathy": ("0", "none needed"),
    }
    assert verdicts(analysis, "chmod")["demo"] == ("2", "over-worked")
    # mkdir: demo searches the directories, and has no hook for the act itself
    assert verdicts(analysis, "mkdir")["demo"] == ("d", "as needed")


def test_branches_with_different_hooks_count_once(tree: Writer) -> None:
    text = """
SYSCALL_DEFINE3(read, unsigned int, fd, char __user *, buf, size_t, count)
{
	if (fd)
		return security_file_open(file);
	return security_inode_setattr(dentry, attr);
}
"""
    analysis = found(tree(**{"fs/open.c": text}))
    assert verdicts(analysis, "read")["demo"] == ("1", "as needed")


WAYS = {
    "callback": """
static long f(int (*actor)(void *)) { return actor(0); }
long g(void) { return f(target); }
""",
    "callback ": """
static long f(int (*actor)(void *)) { return actor(0); }
static long h(int (*on)(void *)) { return f(on); }
long g(void) { return h(target); }
""",
    "static call chosen": """
DEFINE_STATIC_CALL(chosen, target);
long g(void) { return static_call(chosen)(0); }
""",
    "call": """
#define run(x) \\
	do { target(x); } while (0)
long g(void) { run(0); }
""",
    "my_ops.go of the_ops": """
struct my_ops { int *(*go)(void *); };
struct box { const struct my_ops *ops; };
static const struct my_ops the_ops = { .go = target };
long g(struct box *b) { return b->ops->go(0) != 0; }
""",
    "my_ops.go of all": """
struct my_ops { int (*go)(void *); };
static const struct my_ops all[] = { [0] = { .go = &target } };
long g(const struct my_ops *ops) { return (*ops->go)(0); }
""",
    "my_ops.go of taken": """
struct my_ops { int (*go)(void *); };
struct box { struct my_ops *ops; };
static struct my_ops taken = {
#ifdef CONFIG_DEMO
	.go = target,
#endif
};
long g(struct box *b)
{
	int (*get)(void *);
	get = b->ops->go;
	return get(0);
}
""",
    "call ": """
#ifdef CONFIG_DEMO
long g(void) { return target(0); }
#else
long g(void) { return 0; }
#endif
""",
    "call  ": """
#ifndef CONFIG_DEMO
long g(void) { return 0; }
#else
long g(void) { return target(0); }
#endif
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_call_a_function_is_followed(tree: Writer, way: str) -> None:
    target = "int target(void *x) { return security_file_permission(x, 0); }\n"
    read = "SYSCALL_DEFINE3(read, int, fd, char *, buf, size_t, n) { return g(fd); }\n"
    root = tree(**{"fs/open.c": target + WAYS[way] + read})
    assert "file_permission" in uses(found(root), "read", "alpha")
    edges = found(root).edges["alpha"]
    assert way.strip() in {edge.via for edge in edges if edge.callee == "target"}


def test_code_that_is_off_is_not_followed(tree: Writer) -> None:
    read = """
SYSCALL_DEFINE3(read, int, fd, char *, buf, size_t, n)
{
#ifdef CONFIG_DEMO
	return security_file_open(file);
#else
	return security_file_permission(file, 0);
#endif
#if 0
	security_inode_setattr(0, 0);
#endif
}
"""
    analysis = found(tree(**{"fs/open.c": read}))
    assert set(uses(analysis, "read", "alpha")) == {"file_open"}
    assert analysis.scope["lines_of_other_branches"] > 0


def test_functions_that_call_each_other_end(tree: Writer) -> None:
    code = """
static int even(int n);
static int odd(int n) { security_file_permission(f, 0); return n ? even(n - 1) : 0; }
static int even(int n) { return n ? odd(n - 1) : 1; }
SYSCALL_DEFINE3(read, int, fd, char *, buf, size_t, n) { return even(fd); }
"""
    use = uses(found(tree(**{"fs/open.c": code})), "read", "alpha")["file_permission"]
    assert use.repeats
    assert use.ordinary >= Count(1)


def test_a_static_function_is_that_of_its_own_file(tree: Writer) -> None:
    one = "static int helper(void) { return security_file_open(f); }\n"
    two = (
        "static int helper(void) { return security_file_permission(f, 0); }\n"
        "SYSCALL_DEFINE3(read, int, fd, char *, buf, size_t, n) { return helper(); }\n"
    )
    analysis = found(tree(**{"fs/aio.c": one, "fs/open.c": two}))
    assert set(uses(analysis, "read", "alpha")) == {"file_permission"}


OLD_HOOKS = """
union security_list_options {
	int (*inode_permission)(struct inode *inode, int mask);
	int (*file_permission)(struct file *file, int mask);
	int (*file_open)(struct file *file);
};
struct security_hook_heads {
	struct hlist_head inode_permission;
	struct hlist_head file_permission;
	struct hlist_head file_open;
} __randomize_layout;
#define DEFINE_LSM(lsm) static struct lsm_info __lsm_##lsm __used
"""

OLD_SECURITY = """
#define call_int_hook(FUNC, IRC, ...) ({			\\
	int RC = IRC;						\\
	RC;							\\
})
int security_inode_permission(struct inode *inode, int mask)
{
	return call_int_hook(inode_permission, 0, inode, mask);
}
int security_file_permission(struct file *file, int mask)
{
	return call_int_hook(file_permission, 0, file, mask);
}
int security_file_open(struct file *file)
{
	struct security_hook_list *hp;

	hlist_for_each_entry(hp, &security_hook_heads.file_open, list)
		hp->hook.file_open(file);
	return ima_file_opened(file);
}
"""

OLD_IMA = "int ima_file_opened(struct file *file)\n{\n\treturn 0;\n}\n"
OLD_IMA_CHECK = "int ima_file_check(struct file *file, int mask)\n{\n\treturn 0;\n}\n"

OLD_OPEN = """
SYSCALL_DEFINE3(read, unsigned int, fd, char __user *, buf, size_t, count)
{
	ima_file_check(file, 4);
	return security_file_permission(file, 4);
}
"""


def test_a_5_x_tree(tree: Writer) -> None:
    root = tree(
        (5, 3),
        **{
            "include/linux/lsm_hook_defs.h": None,
            "include/linux/lsm_hooks.h": OLD_HOOKS,
            "security/security.c": OLD_SECURITY,
            "security/integrity/ima/ima_main.c": OLD_IMA + OLD_IMA_CHECK,
            "fs/open.c": OLD_OPEN,
        },
    )
    analysis = found(root)
    assert analysis.kernel_version == "5.3.7"
    assert [hook.name for hook in analysis.hooks] == [
        "inode_permission",
        "file_permission",
        "file_open",
    ]
    counted = {one.name: one.hooks for one in analysis.modules}
    assert counted == {"demo": 2, "ima": 1, "pathy": 1}, "hooks it does not define are none"
    acting = {one.name: one.modules for one in analysis.interfaces}
    assert acting["security_file_open"] == ("demo", "ima", "pathy")
    assert acting["ima_file_check"] == ("ima",), "called by fs/ itself, and not by the framework"
    assert uses(analysis, "open", "alpha")["inode_permission"].ordinary == Count(1, 1)


ASKED_HOOK = HOOK_DEFS + "LSM_HOOK(int, 0, current_getsecid_subj, u32 *secid)\n"
ASKED = """
int security_current_getsecid_subj(u32 *secid)
{
	return call_int_hook(current_getsecid_subj, secid);
}
"""
IMA_BY_NAME = """
static int process_measurement(struct file *file)
{
	return security_file_permission(file, 4);
}
int ima_file_check(struct file *file, int mask)
{
	security_current_getsecid_subj(&secid);
	return process_measurement(file);
}
"""
IMA_AS_MODULE = (
    IMA_BY_NAME
    + """
static struct security_hook_list ima_hooks[] = {
	LSM_HOOK_INIT(file_permission, ima_file_check),
};
DEFINE_LSM(ima) = {
	.name = "ima",
};
"""
)


@pytest.mark.parametrize(
    ("ima", "called"),
    [(IMA_BY_NAME, "ima_file_check"), (IMA_AS_MODULE, "security_file_permission")],
    ids=["called by name", "a module"],
)
def test_what_ima_asks_other_modules_in_turn_is_seen(tree: Writer, ima: str, called: str) -> None:
    read = f"SYSCALL_DEFINE2(read, int, fd, struct file *, file) {{ return {called}(file, 4); }}\n"
    root = tree(
        **{
            "include/linux/lsm_hook_defs.h": ASKED_HOOK,
            "security/security.c": SECURITY_C + ASKED,
            "security/integrity/ima/ima_main.c": ima,
            "fs/open.c": read,
        }
    )
    seen = uses(found(root), "read", "alpha")
    assert set(seen) == {called.removeprefix("security_"), "current_getsecid_subj"}
    label = seen["current_getsecid_subj"]
    assert (label.ordinary, label.most, label.repeats) == (Count(1), Count(1), False)
    assert label.chain[1:-1] == tuple(dict.fromkeys((called, "ima_file_check")))


def test_two_modules_of_one_hook_ask_one_after_the_other(tree: Writer) -> None:
    evm = IMA_AS_MODULE.replace("ima", "evm")
    root = tree(
        **{
            "include/linux/lsm_hook_defs.h": ASKED_HOOK,
            "security/security.c": SECURITY_C + ASKED,
            "security/integrity/ima/ima_main.c": IMA_AS_MODULE,
            "security/integrity/evm/evm_main.c": evm,
        }
    )
    assert uses(found(root), "read", "alpha")["current_getsecid_subj"].ordinary == Count(2)


def test_barriers_are_not_entered(tree: Writer) -> None:
    code = """
void try_to_free_pages(void) { security_file_open(f); }
SYSCALL_DEFINE3(read, int, fd, char *, buf, size_t, n) { try_to_free_pages(); return 0; }
"""
    analysis = found(tree(**{"fs/open.c": code}))
    assert uses(analysis, "read", "alpha") == {}
    assert any("memory runs short" in note for note in analysis.notes), "and it is said"


def test_system_calls_that_are_missing_are_said(tree: Writer) -> None:
    missing = [one for one in found(tree()).problems if one.startswith("system calls")]
    assert len(missing) == 1
    assert "rename" in missing[0]
    assert "mkdir," not in missing[0]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("Makefile", "is no kernel tree"),
        ("security/security.c", "security/security.c is missing"),
        ("fs/namei.c", "fs/namei.c is missing"),
        ("include/linux/lsm_hooks.h", "include/linux/lsm_hooks.h is missing"),
    ],
)
def test_a_tree_without_a_file_that_it_needs(tree: Writer, path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        found(tree(**{path: None}))
    assert caught.value.hint


def test_a_tree_without_hooks(tree: Writer) -> None:
    with pytest.raises(UsageError, match="no security hook is defined"):
        found(tree(**{"include/linux/lsm_hook_defs.h": "/* cut */\n"}))


def test_no_folder_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no directory"):
        found(tmp_path / "nothing")
    (tmp_path / "Makefile").write_text("all:\n\techo hello\n")
    with pytest.raises(UsageError, match="is no kernel tree"):
        found(tmp_path)


@pytest.mark.parametrize("name", ["gamma", "../../etc", "alpa", ""])
def test_an_unknown_file_system(tree: Writer, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        found(tree(), name)
    assert caught.value.hint
    if name == "alpa":
        assert "did you mean alpha?" in caught.value.title


def test_links_are_not_followed_and_large_files_not_read(tree: Writer, tmp_path: Path) -> None:
    root = tree()
    (root / "security" / "loop").symlink_to(root / "security")
    (root / "fs" / "alpha" / "up").symlink_to(root)
    secret = tmp_path / "secret.c"
    secret.write_text("SYSCALL_DEFINE0(rmdir) { return security_file_open(f); }\n")
    (root / "fs" / "evil.c").symlink_to(secret)
    (root / "fs" / "large.c").write_bytes(b"/" * (MAX_FILE_BYTES + 1))
    os.mkfifo(root / "mm.c")
    (root / "mm").mkdir()
    os.mkfifo(root / "mm" / "pipe.c")
    analysis = found(root)
    problems = "\n".join(analysis.problems)
    assert "fs/evil.c: no regular file" in problems
    assert "mm/pipe.c: no regular file" in problems
    assert "fs/large.c: 4194305 bytes" in problems
    assert "rmdir" not in {one.syscall for one in analysis.syscalls}


@pytest.mark.parametrize("folder", ["security", "fs", "include", "include/linux"])
def test_a_folder_that_leads_out_of_the_tree_is_not_followed(
    tree: Writer, tmp_path: Path, folder: str
) -> None:
    root = tree()
    (root / folder).rename(tmp_path / "elsewhere")
    (root / folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=rf"{folder}\S* is missing, or behind a link"):
        found(root)


def test_a_module_behind_a_link_is_said_and_not_read(tree: Writer, tmp_path: Path) -> None:
    root = tree()
    for name in ("security/demo", "fs/alpha", "mm"):
        (root / name).mkdir(exist_ok=True)
        (root / name).rename(tmp_path / Path(name).name)
        (root / name).symlink_to(tmp_path / Path(name).name)
    analysis = found(root, "beta")
    assert [one.name for one in analysis.modules] == ["pathy"]
    assert "security/demo: a link, not read" in analysis.problems
    assert "mm: behind a link, not read" in analysis.problems
    with pytest.raises(UsageError, match="no source of the file system 'alpha'"):
        found(root, "alpha")


@given(st.lists(st.sampled_from([b"int f(void) {", b"\xff\xfe", b"(((", b"=", b"\n"]), max_size=60))
def test_no_more_is_unread_than_there_is(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert read_file("fs/x.c", data.decode("utf-8", "replace")).unread_bytes <= len(data)


def test_damaged_files_cost_only_themselves(tree: Writer) -> None:
    root = tree()
    (root / "fs" / "aio.c").write_bytes(bytes(range(256)) * 50)
    (root / "fs" / "cut.c").write_text("static int f(void) { if (x) { for (;;) { g(\n#if 1\n")
    assert "inode_permission" in uses(found(root), "open", "alpha")


@pytest.mark.parametrize(
    "text",
    [
        "int f(void) { return " + "(" * 30_000 + "1" + ")" * 30_000 + "; }",
        "int f(void) " + "{" * 20_000 + "g();" + "}" * 20_000,
        "int f(void) { " + "if (x) " * 20_000 + "g(); }",
        "#if 1\n" * 20_000 + "int f(void) { g(); }\n" + "#endif\n" * 20_000,
        "int f(void) { x" + "->a" * 20_000 + "(); }",
        "struct s x = " + "{ .a = " * 20_000 + "f" + "}" * 20_000 + ";",
        "int " + "(" * 20_000 + "f" + ")" * 20_000 + "(void) { g(); }",
        "int f(void) { " + "".join(f"l{n}: g(); goto l{n};" for n in range(3000)) + "}",
        "/*" * 100_000,
        "LSM_HOOK_INIT(" * 3000,
    ],
    ids=["parens", "braces", "ifs", "directives", "fields", "tables", "declarators", "gotos",
         "comments", "macros"],
)  # fmt: skip
def test_deep_nesting_does_no_harm(tree: Writer, text: str) -> None:
    root = tree(**{"fs/deep.c": text, "security/demo/deep.c": text})
    assert "inode_permission" in uses(found(root), "open", "alpha")
