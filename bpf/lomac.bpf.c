// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Low-water-mark integrity after LOMAC (Fraser, FREENIX 2001), as BPF LSM programs.
 *
 * Every process begins at the level of the one that made it, the first one high. A process that
 * reads a low file (also by executing, mapping or listing it, or by following a link) becomes low.
 * A low process can change nothing that is high. There is no way back up.
 *
 * The level of a file is that of the nearest directory above it, or of the file itself, that the
 * loader's table names; a file system without any is low. It is looked up by walking upwards when
 * a file is opened, and saved with the inode for the reads and writes that follow.
 *
 * Only regular files, directories, symbolic links and block devices have a level. What the kernel
 * mounts for itself (pipes, sockets, memory files), FIFOs and character devices are let through.
 * What cannot be found out is read as low and written as high.
 */
#include "lomac.h"
#include "kernel.h"

/* So many directories above a file are looked at. */
#define MAX_WALK 64
/* The walk found no end. */
#define LEVEL_UNKNOWN 0u

struct {
	__uint(type, BPF_MAP_TYPE_INODE_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lomac_object);
} objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lomac_subject);
} subjects SEC(".maps");

/* The process that runs; NULL when there is no memory. Always made: absence must not mean high. */
static __always_inline struct lomac_subject *subject(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct lomac_subject first = {.level = LEVEL_HIGH};

	return bpf_task_storage_get(&subjects, task->group_leader, &first,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct lomac_object *object(struct inode *inode)
{
	return bpf_inode_storage_get(&objects, inode, 0, 0);
}

static __always_inline bool has_level(struct inode *inode)
{
	__u16 type = inode->i_mode & S_IFMT;

	if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK && type != S_IFBLK)
		return false;
	return !(inode->i_sb->s_flags & SB_NOUSER);
}

/* The level of what `dentry` names, or would name if it existed. */
static __always_inline unsigned int level_of(struct dentry *dentry)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_WALK; i++) {
		struct inode *inode = dentry->d_inode;
		struct lomac_object *found = inode ? object(inode) : NULL;
		struct dentry *parent;

		if (found && found->table)
			return found->table;
		parent = dentry->d_parent;
		if (parent == dentry)
			return LEVEL_LOW;
		dentry = parent;
	}
	return LEVEL_UNKNOWN;
}

#ifdef PATH_IN_UNION
/* A function of its own is given the path as one that may be followed: that is Linux 6.8 or later.
 */
__noinline unsigned int level_of_path(struct path *path
				      __attribute__((btf_decl_tag("arg:trusted"))))
{
	return level_of(path->dentry);
}
#define level_of_name(file) level_of_path(&(file)->f_path)
#else
#define level_of_name(file) level_of((file)->f_path.dentry)
#endif

/* The level of an open file: the saved one, that of the table, or, if need be, by walking. */
static __always_inline unsigned int level_of_file(struct file *file)
{
	struct lomac_object *known = object(file->f_inode);

	if (known && known->saved)
		return known->saved;
	return level_of_name(file);
}

/* The process learns what has this level. */
static __always_inline void observe(struct lomac_subject *process, unsigned int level)
{
	if (level != LEVEL_HIGH)
		process->level = LEVEL_LOW;
}

/* May the process change what has this level? */
static __always_inline int modify(const struct lomac_subject *process, unsigned int level)
{
	return process->level == LEVEL_HIGH || level == LEVEL_LOW ? 0 : -EACCES;
}

static __always_inline int observe_file(struct file *file)
{
	struct lomac_subject *process;

	if (!has_level(file->f_inode))
		return 0;
	process = subject();
	if (!process)
		return -ENOMEM;
	if (process->level == LEVEL_HIGH)
		observe(process, level_of_file(file));
	return 0;
}

static __always_inline int modify_file(struct file *file)
{
	struct lomac_subject *process;

	if (!has_level(file->f_inode))
		return 0;
	process = subject();
	if (!process)
		return -ENOMEM;
	return process->level == LEVEL_HIGH ? 0 : modify(process, level_of_file(file));
}

static __always_inline int modify_dentry(struct dentry *dentry)
{
	struct lomac_subject *process = subject();

	if (!process)
		return -ENOMEM;
	return process->level == LEVEL_HIGH ? 0 : modify(process, level_of(dentry));
}

/* A name comes or goes: that changes the directory, and what the name stands for. */
static __always_inline int modify_name(struct dentry *dentry)
{
	struct lomac_subject *process = subject();
	int refused;

	if (!process)
		return -ENOMEM;
	if (process->level == LEVEL_HIGH)
		return 0;
	refused = modify(process, level_of(dentry->d_parent));
	return refused ? refused : modify(process, level_of(dentry));
}

SEC("lsm/file_open")
int BPF_PROG(lomac_file_open, struct file *file)
{
	struct inode *inode = file->f_inode;
	struct lomac_object *known;
	struct lomac_subject *process;
	unsigned int level;

	if (!has_level(inode))
		return 0;
	level = level_of_name(file);
	known = bpf_inode_storage_get(&objects, inode, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!known)
		return -ENOMEM;
	known->saved = level;
	if (!(file->f_mode & FMODE_WRITE))
		return 0;
	process = subject();
	return process ? modify(process, level) : -ENOMEM;
}

SEC("lsm/file_permission")
int BPF_PROG(lomac_file_permission, struct file *file, int mask)
{
	int refused = mask & (MAY_WRITE | MAY_APPEND) ? modify_file(file) : 0;

	return !refused && mask & MAY_READ ? observe_file(file) : refused;
}

SEC("lsm/mmap_file")
int BPF_PROG(lomac_mmap_file, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags)
{
	int refused = 0;

	if (!file)
		return 0;
	if (prot & PROT_WRITE && flags & MAP_SHARED)
		refused = modify_file(file);
	return refused ? refused : observe_file(file);
}

SEC("lsm/file_mprotect")
int BPF_PROG(lomac_file_mprotect, struct vm_area_struct *area, unsigned long reqprot,
	     unsigned long prot)
{
	struct file *file = area->vm_file;

	return file && prot & PROT_WRITE && area->vm_flags & VM_SHARED ? modify_file(file) : 0;
}

SEC("lsm/inode_readlink")
int BPF_PROG(lomac_readlink, struct dentry *dentry)
{
	struct lomac_subject *process = subject();
	struct inode *inode = dentry->d_inode;

	if (!process)
		return -ENOMEM;
	if (process->level == LEVEL_HIGH && inode && has_level(inode))
		observe(process, level_of(dentry));
	return 0;
}

SEC("lsm/inode_follow_link")
int BPF_PROG(lomac_follow_link, struct dentry *dentry, struct inode *inode)
{
	struct lomac_subject *process = subject();

	if (!process)
		return -ENOMEM;
	if (process->level == LEVEL_HIGH && has_level(inode))
		observe(process, level_of(dentry));
	return 0;
}

SEC("lsm/bprm_check_security")
int BPF_PROG(lomac_exec, struct linux_binprm *bprm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct lomac_subject *process, *thread;
	int refused = observe_file(bprm->file);

	if (refused || task == task->group_leader)
		return refused;
	/* A thread that executes becomes the first of its process: it has to keep the level. */
	process = subject();
	thread = bpf_task_storage_get(&subjects, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!process || !thread)
		return -ENOMEM;
	thread->level = process->level;
	return 0;
}

SEC("lsm/task_alloc")
int BPF_PROG(lomac_task_alloc, struct task_struct *task, unsigned long clone_flags)
{
	struct lomac_subject *parent = subject(), *child;

	if (!parent)
		return -ENOMEM;
	child = bpf_task_storage_get(&subjects, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!child)
		return -ENOMEM;
	child->level = parent->level;
	return 0;
}

SEC("lsm/inode_create")
int BPF_PROG(lomac_create, struct inode *directory, struct dentry *dentry)
{
	return modify_name(dentry);
}

SEC("lsm/inode_mkdir")
int BPF_PROG(lomac_mkdir, struct inode *directory, struct dentry *dentry)
{
	return modify_name(dentry);
}

SEC("lsm/inode_mknod")
int BPF_PROG(lomac_mknod, struct inode *directory, struct dentry *dentry)
{
	return modify_name(dentry);
}

SEC("lsm/inode_symlink")
int BPF_PROG(lomac_symlink, struct inode *directory, struct dentry *dentry)
{
	return modify_name(dentry);
}

SEC("lsm/inode_unlink")
int BPF_PROG(lomac_unlink, struct inode *directory, struct dentry *dentry)
{
	return modify_name(dentry);
}

SEC("lsm/inode_rmdir")
int BPF_PROG(lomac_rmdir, struct inode *directory, struct dentry *dentry)
{
	return modify_name(dentry);
}

SEC("lsm/inode_link")
int BPF_PROG(lomac_link, struct dentry *old, struct inode *directory, struct dentry *dentry)
{
	/* A low name for a high file would make its next opening low. */
	int refused = modify_dentry(old);

	return refused ? refused : modify_name(dentry);
}

SEC("lsm/inode_rename")
int BPF_PROG(lomac_rename, struct inode *old_directory, struct dentry *old,
	     struct inode *new_directory, struct dentry *new)
{
	int refused = modify_name(old);

	return refused ? refused : modify_name(new);
}

/* Truncation, mode, owner and times. Linux 6.9 put an argument before the others. */
SEC("?lsm/inode_setattr")
int BPF_PROG(lomac_setattr_2, struct dentry *dentry, struct iattr *changes)
{
	return modify_dentry(dentry);
}

SEC("?lsm/inode_setattr")
int BPF_PROG(lomac_setattr_3, struct mnt_idmap *map, struct dentry *dentry)
{
	return modify_dentry(dentry);
}

SEC("lsm/inode_setxattr")
int BPF_PROG(lomac_setxattr, struct mnt_idmap *map, struct dentry *dentry)
{
	return modify_dentry(dentry);
}

SEC("lsm/inode_removexattr")
int BPF_PROG(lomac_removexattr, struct mnt_idmap *map, struct dentry *dentry)
{
	return modify_dentry(dentry);
}

/* Since Linux 6.2; before it, access control lists are set as extended attributes. */
SEC("?lsm/inode_set_acl")
int BPF_PROG(lomac_set_acl, struct mnt_idmap *map, struct dentry *dentry)
{
	return modify_dentry(dentry);
}

SEC("?lsm/inode_remove_acl")
int BPF_PROG(lomac_remove_acl, struct mnt_idmap *map, struct dentry *dentry)
{
	return modify_dentry(dentry);
}

char LICENSE[] SEC("license") = "GPL";
