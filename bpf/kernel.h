/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs here read of the kernel's structures. Only names and types count: the loader
 * puts in the offsets of the kernel that it loads them into (CO-RE).
 */
#ifndef LSMETER_BPF_KERNEL_H
#define LSMETER_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* As the kernel has them; user space headers differ, or have them together with a C library. */
#define S_IFMT	    0170000
#define S_IFBLK	    0060000
#define S_IFDIR	    0040000
#define S_IFLNK	    0120000
#define S_IFREG	    0100000
#define SB_NOUSER   (1ul << 31)
#define FMODE_WRITE 2u
#define MAY_WRITE   2
#define MAY_READ    4
#define MAY_APPEND  8
#define PROT_WRITE  2
#define MAP_SHARED  1 /* MAP_SHARED_VALIDATE, 3, has this bit too */
#define VM_SHARED   8ul
#define ENOMEM	    12
#define EACCES	    13

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	__u32 s_dev;
	unsigned long s_flags;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct dentry {
	struct dentry *d_parent;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct file {
	__u32 f_mode;
	struct path f_path;
	struct inode *f_inode;
};

struct linux_binprm {
	struct file *file;
};

struct vm_area_struct {
	unsigned long vm_flags;
	struct file *vm_file;
};

struct task_struct {
	struct task_struct *group_leader;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
};

#pragma clang attribute pop

/* Only named: what a pointer to them points to is not read. */
struct iattr;
struct mnt_idmap;

#endif
