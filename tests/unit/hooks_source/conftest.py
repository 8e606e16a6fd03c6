# SPDX-License-Identifier: GPL-2.0-or-later
"""Small kernel trees with known answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MAKEFILE = "VERSION = {0}\nPATCHLEVEL = {1}\nSUBLEVEL = 7\nEXTRAVERSION =\nNAME = Test\n"

HOOK_DEFS = """/* SPDX */
LSM_HOOK(int, 0, inode_permission, struct inode *inode, int mask)
LSM_HOOK(int, 0, inode_setattr, struct dentry *dentry,
\t struct iattr *attr)
LSM_HOOK(int, 0, inode_getattr, const struct path *path)
LSM_HOOK(int, 0, file_permission, struct file *file, int mask)
LSM_HOOK(int, 0, file_open, struct file *file)
LSM_HOOK(int, 0, file_alloc_security, struct file *file)
LSM_HOOK(int, 0, inode_follow_link, struct dentry *dentry)
LSM_HOOK(void, LSM_RET_VOID, d_instantiate, struct dentry *dentry, struct inode *inode)

#ifdef CONFIG_SECURITY_PATH
LSM_HOOK(int, 0, path_mkdir, const struct path *dir)
#endif /* CONFIG_SECURITY_PATH */
"""

SECURITY_C = """
#define call_int_hook(HOOK, ...) ({ 0; })
int security_inode_permission(struct inode *inode, int mask)
{
	if (unlikely(IS_PRIVATE(inode)))
		return 0;
	return call_int_hook(inode_permission, inode, mask);
}
int security_inode_setattr(struct dentry *dentry, struct iattr *attr)
{
	return call_int_hook(inode_setattr, dentry, attr);
}
int security_inode_getattr(const struct path *path)
{
	return call_int_hook(inode_getattr, path);
}
int security_file_permission(struct file *file, int mask)
{
	return call_int_hook(file_permission, file, mask);
}
int security_file_open(struct file *file)
{
	struct lsm_static_call *scall;
	lsm_for_each_hook(scall, file_open)
		scall->hl->hook.file_open(file);
	return 0;
}
int security_file_alloc(struct file *file)
{
	return call_int_hook(file_alloc_security, file);
}
int security_inode_follow_link(struct dentry *dentry)
{
	return call_int_hook(inode_follow_link, dentry);
}
#ifdef CONFIG_SECURITY_PATH
int security_path_mkdir(const struct path *dir)
{
	return call_int_hook(path_mkdir, dir);
}
#endif
void security_helper(void)
{
}
"""

LSM = """
#include <linux/lsm_hooks.h>
static struct security_hook_list demo_hooks[] __ro_after_init = {
	LSM_HOOK_INIT(inode_permission, demo_inode_permission),
	LSM_HOOK_INIT(inode_setattr, demo_inode_setattr),
	LSM_HOOK_INIT(file_open, demo_file_open),
	/* LSM_HOOK_INIT(file_permission, in_a_comment), */
#ifdef CONFIG_DEMO_MORE
	LSM_HOOK_INIT(inode_getattr, demo_inode_getattr),
#endif
};
DEFINE_LSM(demo) = {
	.name = "demo",
	.init = demo_init,
};
"""

PATH_LSM = """
#define PATHY_NAME "pathy"
static const struct lsm_id pathy_lsmid = {
	.name = PATHY_NAME,
	.id = 100,
};
static struct security_hook_list pathy_hooks[] = {
	LSM_HOOK_INIT(path_mkdir, pathy_mkdir),
	LSM_HOOK_INIT(file_open, pathy_open),
};
DEFINE_LSM(pathy_init) = {
	.id = &pathy_lsmid,
};
"""

LSM_HOOKS_H = "#define LSM_HOOK_INIT(NAME, HOOK) { .hook = { .NAME = HOOK } }\n"

FS_H = """
struct inode_operations {
	int (*setattr)(struct dentry *, struct iattr *);
	const char *(*get_link)(struct dentry *, struct inode *);
	int (*mkdir)(struct inode *, struct dentry *);
};
struct file_operations {
	long (*read_iter)(struct kiocb *, struct iov_iter *);
};
struct inode {
	const struct inode_operations *i_op;
};
struct file {
	const struct file_operations *f_op;
};
static inline long call_read_iter(struct file *file, struct kiocb *kio, struct iov_iter *iter)
{
	return file->f_op->read_iter(kio, iter);
}
"""

NAMEI_C = """
int inode_permission(struct inode *inode, int mask)
{
	return security_inode_permission(inode, mask);
}
static inline int may_lookup(struct nameidata *nd)
{
	if (nd->flags & LOOKUP_RCU) {
		int err = inode_permission(nd->inode, MAY_EXEC | MAY_NOT_BLOCK);
		if (err != -ECHILD || !try_to_unlazy(nd))
			return err;
	}
	return inode_permission(nd->inode, MAY_EXEC);
}
static int pick_link(struct nameidata *nd)
{
	return security_inode_follow_link(nd->dentry);
}
static int link_path_walk(const char *name, struct nameidata *nd)
{
	for (;;) {
		int err = may_lookup(nd);
		if (err)
			return err;
		if (is_link(nd))
			err = pick_link(nd);
		if (!*name)
			return 0;
	}
}
static struct file *path_openat(struct nameidata *nd)
{
	link_path_walk(nd->name, nd);
	inode_permission(nd->inode, MAY_OPEN);
	security_file_alloc(nd->file);
	security_file_open(nd->file);
	return nd->file;
}
struct file *do_filp_open(struct nameidata *nd)
{
	struct file *filp = path_openat(nd);
	if (unlikely(filp == ERR_PTR(-ECHILD)))
		filp = path_openat(nd);
	if (unlikely(filp == ERR_PTR(-ESTALE)))
		filp = path_openat(nd);
	return filp;
}
SYSCALL_DEFINE3(open, const char __user *, filename, int, flags, umode_t, mode)
{
	return do_filp_open(getname(filename)) ? 0 : -1;
}
SYSCALL_DEFINE2(mkdir, const char __user *, pathname, umode_t, mode)
{
	struct inode *dir = lookup(pathname);
	int error;
retry:
	link_path_walk(pathname, nd);
	error = security_path_mkdir(dir);
	if (!error)
		error = dir->i_op->mkdir(dir, dentry);
	if (retry_estale(error, lookup_flags))
		goto retry;
	return error;
}
"""

OPEN_C = """
static int notify_change(struct dentry *dentry, struct iattr *attr)
{
	struct inode *inode = dentry->d_inode;
	int error = security_inode_setattr(dentry, attr);
	if (error)
		return error;
	if (inode->i_op->setattr)
		error = inode->i_op->setattr(dentry, attr);
	return error;
}
SYSCALL_DEFINE2(chmod, const char __user *, filename, umode_t, mode)
{
	return notify_change(lookup(filename), 0);
}
SYSCALL_DEFINE3(read, unsigned int, fd, char __user *, buf, size_t, count)
{
	int ret = security_file_permission(file, MAY_READ);
	if (ret)
		return ret;
	return call_read_iter(file, kio, iter);
}
SYSCALL_DEFINE1(close, unsigned int, fd)
{
	return 0;
}
"""

ALPHA_C = """
static int alpha_setattr(struct dentry *dentry, struct iattr *attr)
{
	return inode_permission(dentry->d_inode, MAY_WRITE);
}
static const struct inode_operations alpha_inode_operations = {
	.setattr	= alpha_setattr,
};
"""

BETA_C = """
static int beta_mkdir(struct inode *dir, struct dentry *dentry)
{
	security_d_instantiate(dentry, dir);
	return 0;
}
const struct inode_operations beta_dir_operations = {
	.mkdir = beta_mkdir,
	.setattr = simple_setattr,
};
"""

TREE: Mapping[str, str] = {
    "include/linux/lsm_hook_defs.h": HOOK_DEFS,
    "include/linux/lsm_hooks.h": LSM_HOOKS_H,
    "include/linux/fs.h": FS_H,
    "security/security.c": SECURITY_C,
    "security/demo/hooks.c": LSM,
    "security/pathy/lsm.c": PATH_LSM,
    "fs/namei.c": NAMEI_C,
    "fs/open.c": OPEN_C,
    "fs/alpha/file.c": ALPHA_C,
    "fs/alpha/Kconfig": "",
    "fs/beta/dir.c": BETA_C,
    "fs/beta/Kconfig": "",
}

Writer = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Writer:
    """Return a function that writes a kernel tree: TREE with changes (None takes a file away)."""

    def write(version: tuple[int, int] = (6, 1), **changes: str | None) -> Path:
        root = tmp_path / "linux"
        files = {"Makefile": MAKEFILE.format(*version), **TREE}
        files |= {path: text for path, text in changes.items() if text is not None}
        for path, text in files.items():
            if path in changes and changes[path] is None:
                continue
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return root

    return write
