# SPDX-License-Identifier: GPL-2.0-or-later
"""Each stage by itself: hook lists of all kernels, modules, lines of code, classes, counts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.studies import printed_rows
from lsmeter.core.errors import UsageError
from lsmeter.questions.hooks.source.config import Config, compiled
from lsmeter.questions.hooks.source.framework import (
    all_code_lines,
    code_lines,
    find_hooks,
    find_modules,
)
from lsmeter.questions.hooks.source.model import Count, Hook, Module
from lsmeter.questions.hooks.source.reach import NO_COSTS, Costs, Counter
from lsmeter.questions.hooks.source.rules import (
    decides,
    is_barrier,
    is_rare,
    least_needed,
    object_class,
)
from lsmeter.questions.hooks.source.syntax import read_file

CONFIG = Config({"X": "y"}, "test")

# --- the framework's hooks ----------------------------------------------------------------------

UNION = """
/* union of hooks: int (*in_a_comment)(void); */
union security_list_options {
	int (*ptrace_access_check)(struct task_struct *child,
					unsigned int mode);
	void (*bprm_committed_creds)(struct linux_binprm *bprm);
	struct dentry *(*returns_pointer)(int a);
#ifdef CONFIG_SECURITY_PATH
	int (*path_unlink)(const struct path *dir, struct dentry *dentry);
#endif
};
struct security_hook_heads {
	struct hlist_head ptrace_access_check;
};
"""


def test_hooks_of_a_5_x_kernel() -> None:
    hooks = find_hooks("", UNION)
    assert [(one.name, one.returns, one.condition) for one in hooks] == [
        ("ptrace_access_check", "int", ""),
        ("bprm_committed_creds", "void", ""),
        ("returns_pointer", "struct dentry *", ""),
        ("path_unlink", "int", "CONFIG_SECURITY_PATH"),
    ]


def test_hooks_of_a_6_x_kernel() -> None:
    text = (
        " * LSM_HOOK(<return_type>, <default_value>, <hook_name>, args...)\n"
        "/* LSM_HOOK(int, 0, in_a_comment, void) */\n"
        "LSM_HOOK(int, 0, file_open, struct file *file)\n"
        "LSM_HOOK(int, -EOPNOTSUPP, fs_context_parse_param,\n\t int (*f)(int, int),\n\t char *p)\n"
        "#ifdef CONFIG_KEYS\nLSM_HOOK(void, LSM_RET_VOID, key_free, struct key *key)\n#endif\n"
        "LSM_HOOK(int, 0, file_open, struct file *again)\n"
    )
    assert [(one.name, one.returns, one.condition) for one in find_hooks(text, "")] == [
        ("file_open", "int", ""),
        ("fs_context_parse_param", "int", ""),
        ("key_free", "void", "CONFIG_KEYS"),
    ]


# --- modules ------------------------------------------------------------------------------------


def hooks(*names: str) -> tuple[Hook, ...]:
    return tuple(Hook(name, object_class(name), "int", "") for name in names)


KNOWN = hooks("file_open", "file_permission", "inode_setattr", "path_mkdir", "mmap_file")


def modules(**texts: str) -> dict[str, Module]:
    named = {name.replace("__", "/") + ".c": text for name, text in texts.items()}
    return {one.name: one for one in find_modules(named, KNOWN, all_code_lines(named, frozenset()))}


def lsm(name: str, *used: str, body: str = "") -> str:
    lines = "".join(f"\tLSM_HOOK_INIT({one}, {name}_{one}),\n" for one in used)
    named = body or f'.name = "{name}"'
    return (
        f"static struct security_hook_list {name}_hooks[] = {{\n{lines}}};\n"
        f"DEFINE_LSM({name}_init) = {{\n\t{named},\n}};\n"
    )


def test_hooks_are_counted_by_class_and_condition() -> None:
    text = lsm("demo", "file_open", "inode_setattr").replace(
        "};\nDEFINE", "#ifdef CONFIG_X\n\tLSM_HOOK_INIT(path_mkdir, m),\n#endif\n};\nDEFINE"
    )
    demo = modules(security__demo__hooks=text)["demo"]
    assert (demo.hooks, demo.general_hooks) == (3, 2)
    assert list(demo.hooks_by_class.items()) == [("inode", 1), ("file", 1), ("path", 1)]
    assert [one.condition for one in demo.implementations] == ["", "", "CONFIG_X"]


@pytest.mark.parametrize(
    ("body", "extra"),
    [
        ('.name = "real"', ""),
        (".name = REAL_NAME", '#define REAL_NAME "real"\n'),
        (".id = &real_id", 'const struct lsm_id real_id = {\n\t.name = "real",\n};\n'),
        (".id = &real_id", 'struct lsm_id real_id = { .name = N };\n#define N "real"\n'),
    ],
)
def test_a_module_is_named_as_the_kernel_names_it(body: str, extra: str) -> None:
    assert list(modules(security__m__a=extra + lsm("other", "file_open", body=body))) == ["real"]


def test_hooks_of_all_files_of_a_folder_belong_to_its_module() -> None:
    found = modules(
        security__land__setup=lsm("land"),
        security__land__fs=lsm("x", "file_open").split("DEFINE")[0],
        security__land__deep__net=lsm("y", "path_mkdir").split("DEFINE")[0],
        security__land__inner__lsm=lsm("inner", "inode_setattr"),
        security__single=lsm("single", "mmap_file"),
    )
    hooks_of = {name: one.hooks for name, one in found.items()}
    assert hooks_of == {"land": 2, "inner": 1, "single": 1}
    assert found["single"].directory == "security/single.c"


def test_a_module_that_includes_the_whole_list_has_every_hook() -> None:
    text = (
        "static struct security_hook_list all_hooks[] = {\n"
        "\t#define LSM_HOOK(RET, DEFAULT, NAME, ...) \\\n\tLSM_HOOK_INIT(NAME, bpf_lsm_##NAME),\n"
        "\t#include <linux/lsm_hook_defs.h>\n\t#undef LSM_HOOK\n"
        '\tLSM_HOOK_INIT(file_open, again),\n};\nDEFINE_LSM(bpf) = { .name = "bpf", };\n'
    )
    assert modules(security__bpf__hooks=text)["bpf"].hooks == len(KNOWN)


SECURITY_5_3 = """
int security_inode_setattr(struct dentry *dentry, struct iattr *attr)
{
	int ret = call_int_hook(inode_setattr, 0, dentry, attr);
	if (ret)
		return ret;
	return evm_inode_setattr(dentry, attr);
}
int security_mmap_file(struct file *file, unsigned long prot,
			unsigned long flags)
{
	int ret = call_int_hook(mmap_file, 0, file, prot);
	if (ret)
		return ret;
	return ima_file_mmap(file, prot);
}
static int helper(void) { return ima_not_called_from_an_interface(); }
"""


def test_ima_and_evm_of_an_old_kernel_are_called_by_name() -> None:
    found = modules(
        security__security=SECURITY_5_3,
        security__integrity__iint=lsm("integrity"),
        security__integrity__ima__ima_main="int ima_file_mmap(void)\n{\n\treturn 0;\n}\n",
        security__integrity__evm__evm_main="int evm_inode_setattr(void);\n",
    )
    assert set(found) == {"ima", "evm"}
    assert (found["ima"].hooks, found["ima"].hooks_by_class) == (1, {"mmap": 1})
    assert (found["ima"].code_lines, found["ima"].lines_per_hook) == (4, 4.0)
    assert found["evm"].hooks_by_class == {"inode": 1}
    assert found["evm"].called_by_name
    assert "by name" in found["evm"].note


def test_ima_of_a_new_kernel_is_a_module_like_others() -> None:
    found = modules(
        security__security=SECURITY_5_3,
        security__integrity__ima__ima_main=lsm("ima", "file_open"),
    )
    assert (found["ima"].hooks, found["ima"].called_by_name) == (1, False)
    assert "evm" not in found


@pytest.mark.parametrize("config", [Config(), CONFIG, Config({"EARLY": "y"})])
def test_an_early_module_is_found_once(config: Config) -> None:
    early = "#ifdef CONFIG_EARLY\nDEFINE_EARLY_LSM(m) = {\n#else\nDEFINE_LSM(m_init) = {\n#endif\n"
    text = lsm("m", "file_open").replace("DEFINE_LSM(m_init) = {\n", early)
    assert {
        name: one.hooks for name, one in modules(security__m__a=compiled(text, config)).items()
    } == {"m": 1}


def test_many_hooks_on_one_line_are_all_found() -> None:
    text = "static x h[] = { LSM_HOOK_INIT(file_open, a), LSM_HOOK_INIT(mmap_file, b) };\n"
    assert modules(security__m__a=text + lsm("m"))["m"].hooks == 2
    assert (
        modules(security__m__a="#define X LSM_HOOK_INIT(file_open, a)\n" + lsm("m"))["m"].hooks == 0
    )


def test_a_module_without_hooks_has_no_lines_per_hook() -> None:
    assert modules(security__m__a=lsm("empty"))["empty"].lines_per_hook is None


# --- lines of code ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("int a;\n\n  \t\nint b;", 2),
        ("/* one\n two */\nint a; // x\n// only\n", 1),
        ("int a; /* begins\nends */ int b;\n", 2),
        ('char *s = "/* no comment";\nint b; /* c */\n', 2),
        ("char c = '\"'; /* x\n*/\n", 1),
        ("/* never ends\nint a;\n", 0),
        ("#if 0\nint a;\n#endif\n", 3),
    ],
)
def test_lines_of_code(text: str, lines: int) -> None:
    assert code_lines(text) == lines


@given(st.lists(st.sampled_from(["int a;", 'f("//");', "", "/* c */", "// c", "}"]), max_size=30))
def test_comments_and_blanks_never_count(parts: list[str]) -> None:
    real = [one for one in parts if one and not one.startswith("/")]
    assert code_lines("\n".join(parts)) == len(real)


def test_tests_and_generated_files_do_not_count() -> None:
    texts = {f"security/x/{name}": "int a;\n" for name in ("lsm.c", "policy_test.c", "flask.h")}
    found = all_code_lines(texts, frozenset({"security/x/flask.h"}))
    assert found == {"security/x/lsm.c": 1}


# --- classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("inode_permission", "inode"),
        ("sb_mount", "superblock"),
        ("capable", "cap"),
        ("getprocattr", "proc"),
        ("secid_to_secctx", "seclabel"),
        ("mmap_backing_file", "mmap"),
        ("d_instantiate", "other"),
        ("bpf_map", "bpf"),
    ],
)
def test_the_class_is_that_of_the_prefix(hook: str, expected: str) -> None:
    assert object_class(hook) == expected


@pytest.mark.parametrize(
    "hook", ["inode_permission", "file_open", "path_rename", "inode_setxattr", "file_receive"]
)
def test_decisions(hook: str) -> None:
    assert decides(hook, "int")
    assert not decides(hook, "void")


@pytest.mark.parametrize(
    "hook",
    ["inode_alloc_security", "file_free_security", "inode_init_security", "inode_post_setattr",
     "inode_copy_up", "file_set_fowner", "inode_getsecurity", "task_kill", "capable",
     "inode_need_killpriv", "path_post_mknod"],
)  # fmt: skip
def test_no_decisions_on_files(hook: str) -> None:
    assert not decides(hook, "int")


# --- counts -------------------------------------------------------------------------------------


def cost_of(body: str, name: str = "f") -> tuple[Count, Count]:
    """Count the calls of hook() in a function: ordinary, and the most."""
    function = read_file("fs/x.c", f"int {name}(void)\n{{\n{body}\n}}\n").functions[0]

    def call_costs(index: int) -> Costs:
        return {0: Count(1)} if function.calls[index].name == "hook" else NO_COSTS

    ordinary, most = (
        Counter(call_costs, path_loops=name == "walk", retries=retries).count(function.body)
        for retries in (False, True)
    )
    return ordinary.get(0, Count()), most.get(0, Count())


@pytest.mark.parametrize(
    ("body", "ordinary", "most"),
    [
        ("", 0, 0),
        ("hook(); hook();", 2, 2),
        ("if (a) hook(); else { hook(); hook(); }", 2, 2),
        ("if (hook()) return hook();", 2, 2),
        ("if (a) { hook(); return 1; } hook(); hook();", 2, 2),
        ("return a ? hook() : b;", 1, 1),
        ("return hook() && hook() || hook();", 3, 3),
        ("switch (a) { case 1: hook(); break; case 2: hook(); hook(); break; }", 2, 2),
        ("switch (a) { case 1: hook(); case 2: hook(); default: x(); }", 2, 2),
        ("switch (hook()) { default: hook(); return 1; } hook();", 2, 2),
        ("if (a) goto out; hook(); out: hook();", 2, 2),
        ("if (a) { hook(); hook(); goto out; } return 0; out: hook();", 3, 3),
        ("goto in; if (a) { in: hook(); } hook();", 2, 2),
        ("err = hook(); if (err == -ECHILD) hook();", 1, 2),
        ("err = hook(); if (err != -ECHILD) return err; hook();", 1, 2),
        ("p = hook(); if (unlikely(p == ERR_PTR(-ESTALE))) p = hook();", 1, 2),
        ("again: hook(); if (retry_estale(e, f)) goto again;", 1, 2),
        ("again: hook(); if (e) goto again;", 1, 2),
        ("({ int x = hook(); x; });", 1, 1),
        ("f(hook(), g(hook()));", 2, 2),
        ("scoped_guard(rcu) { hook(); }", 1, 1),
        ("return 1; hook();", 0, 0),
    ],
)
def test_how_often_a_call_runs(body: str, ordinary: int, most: int) -> None:
    found = cost_of(body)
    assert found == (Count(ordinary), Count(most))
    assert not found[1].repeats


@pytest.mark.parametrize(
    "body",
    [
        "for (i = 0; i < n; i++) hook();",
        "while (hook());",
        "do { hook(); } while (a);",
        "list_for_each_entry(a, b, c) hook();",
        "list_for_each_entry(a, b, c) { if (a) hook(); }",
        "for (;;) { if (hook()) return 1; }",
        "for (;;) { if (a) break; hook(); }",
    ],
)
def test_loops_are_marked(body: str) -> None:
    found = cost_of(body)
    assert found == (Count(1), Count(1))
    assert found[1].repeats


def test_what_follows_a_loop_is_no_loop() -> None:
    for body in ("x(); if (a) hook();", "if (a) x(); hook();"):
        ordinary, most = cost_of(f"list_for_each_entry(a, b, c) {body}")
        assert (ordinary, most, most.repeats) == (Count(1), Count(1), False)


def test_the_loop_over_components_multiplies() -> None:
    found = cost_of("hook(); for (;;) { hook(); hook(); if (a) return 0; }", "walk")
    assert found == (Count(1, 2), Count(1, 2))


PIECES = st.sampled_from(
    ["hook();", "x();", "if (a) {{ {0} }}", "if (a) {{ {0} }} else {{ {1} }}", "return 1;",
     "for (;;) {{ {0} }}", "switch (a) {{ case 1: {0} break; default: {1} }}", "break;",
     "if (e == -ECHILD) {{ {0} }}", "goto l;", "l: {0}", "continue;"]
)  # fmt: skip


@given(st.recursive(PIECES, lambda inner: st.tuples(PIECES, inner, inner), max_leaves=12))
def test_the_most_is_never_less_than_the_ordinary(tree: object) -> None:
    def text(piece: object) -> str:
        if isinstance(piece, tuple):
            return str(piece[0]).format(text(piece[1]), text(piece[2]))
        return str(piece).format("hook();", "")

    body = text(tree)
    ordinary, most = cost_of(body)
    assert ordinary <= most
    assert most.constant <= 2 * body.count("hook") + 2
    assert most.per_component == 0


# --- data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", Count()), ("3", Count(3)), ("d", Count(0, 1)), ("6d", Count(0, 6)),
     ("2d+4", Count(4, 2))],
)  # fmt: skip
def test_counts_are_read_as_they_are_printed(text: str, count: Count) -> None:
    assert Count.parse(text) == count
    assert str(count) == text


@pytest.mark.parametrize("text", ["", "x", "d*2", "-1", "1.5"])
def test_other_text_is_no_count(text: str) -> None:
    with pytest.raises(ValueError, match="is no count"):
        Count.parse(text)


def test_counts_are_ordered_as_for_long_paths() -> None:
    assert sorted([Count(0, 1), Count(9), Count(2, 1), Count(1)]) == [
        Count(1),
        Count(9),
        Count(0, 1),
        Count(2, 1),
    ]


def test_published_tables_are_whole() -> None:
    assert len(printed_rows("asiaccs21-table7.csv")) == 32
    assert (least_needed()["renameat2"], len(least_needed())) == (Count(4), 36)
    totals = printed_rows("asiaccs21-table5.csv")[-1]
    assert (totals["class"], totals["selinux"], totals["apparmor"]) == ("total", "204", "68")
    assert printed_rows("asiaccs21-table2.csv")[1]["code_lines"] == "21266"


def test_barriers_name_functions_and_not_the_ways_of_interest() -> None:
    assert is_barrier("__alloc_pages")
    assert is_barrier("folio_put")
    for name in ("pick_link", "lookup_slow", "__lookup_slow", "inode_owner_or_capable", "fput"):
        assert is_rare(name)
    assert not is_rare("fput_close_sync"), "close itself"
    for name in ("inode_permission", "may_lookup", "link_path_walk", "notify_change", "vfs_read",
                 "do_filp_open", "rw_verify_area", "security_file_open"):  # fmt: skip
        assert not is_barrier(name)
        assert not is_rare(name)


# --- trees made to be slow to read --------------------------------------------------------------


@pytest.fixture
def limited_cpu() -> Iterator[None]:
    """Fail what takes a minute of CPU time; each of these takes a second or two."""

    def fail(_number: int, _frame: object) -> None:
        raise AssertionError("it takes more than a minute of CPU time")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


_LONG = 500_000


@pytest.mark.usefixtures("limited_cpu")
@pytest.mark.parametrize(
    "text",
    [
        "LSM_HOOK(a" + " " * _LONG,
        "union security_list_options {" + "\n" * _LONG,
        "union security_list_options {" * (_LONG // 30),
        "int (* " * (_LONG // 7),
        "DEFINE_LSM(a) = {\n" * (_LONG // 18),
        "#define LSM_HOOK(\\\n" * (_LONG // 19),
        "a security_x(\n" * (_LONG // 14),
        "\n" * _LONG,
    ],
    ids=lambda text: text[:20].strip() or "newlines",
)
def test_a_tree_made_to_be_slow_to_read_is_read(text: str) -> None:
    for definitions in ((text, ""), ("", text)):
        with suppress(UsageError):
            find_hooks(*definitions)
    named = "DEFINE_LSM(x) = {\n.id = &y,\n};"
    files = {"security/x/a.c": text, "security/x/b.c": named, "security/security.c": text}
    if text.startswith("DEFINE_LSM"):
        with pytest.raises(UsageError, match=r"security/x/a\.c:1: the module .* cannot be read"):
            find_modules(files, (), {})
        return
    assert [module for module in find_modules(files, (), {}) if module.directory == "security/x"]


def test_a_module_that_cannot_be_read_is_said() -> None:
    one = 'DEFINE_LSM(x) = {\n\t.name = "x",\n};\n'
    long = f"DEFINE_LSM(y) = {{\n{'x' * 5000}\n}};\n"
    assert len(find_modules({"security/x.c": one * 20}, (), {})) == 20
    with pytest.raises(UsageError, match=r"security/x\.c: more than 20 modules"):
        find_modules({"security/x.c": one * 21}, (), {})
    for text in (one + long, long + one, one + "DEFINE_LSM(y) = other;\n" + one):
        with pytest.raises(UsageError, match=r"security/x\.c:[14]: the module"):
            find_modules({"security/x.c": text}, (), {})
