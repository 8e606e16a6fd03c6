// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An allow-list of directories in a hash map, as BPF LSM programs: on one file system, only listed
 * directories, and those made beneath them since, can be searched, listed or have files opened in
 * them. Other file systems are let through after one comparison.
 */
#include "allow.h"
#include "kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the loader sets it */
	__type(key, struct allow_key);
	__type(value, __u32);
} entries SEC(".maps");

/* The file system that the list is about; the loader sets it. */
const volatile __u32 device = 0;

static __always_inline bool is_directory(struct inode *inode)
{
	return (inode->i_mode & S_IFMT) == S_IFDIR;
}

static __always_inline bool is_allowed(struct inode *directory)
{
	struct allow_key key = {.device = device, .inode = directory->i_ino};
	__u32 *entry = bpf_map_lookup_elem(&entries, &key);

	return entry && *entry != ENTRY_DENIED;
}

SEC("lsm/inode_permission")
int BPF_PROG(allow_inode_permission, struct inode *inode, int mask)
{
	if (inode->i_sb->s_dev != device || !is_directory(inode))
		return 0;
	return is_allowed(inode) ? 0 : -EACCES;
}

SEC("lsm/file_open")
int BPF_PROG(allow_file_open, struct file *file)
{
	struct inode *inode = file->f_inode;

	if (inode->i_sb->s_dev != device)
		return 0;
	if (!is_directory(inode))
		inode = file->f_path.dentry->d_parent->d_inode;
	return is_allowed(inode) ? 0 : -EACCES;
}

/* A directory comes into being, or back from the disk: it follows the one that it is in. */
SEC("lsm/d_instantiate")
int BPF_PROG(allow_instantiate, struct dentry *dentry, struct inode *inode)
{
	struct allow_key key = {.device = device};
	__u32 entry = ENTRY_INHERITED;

	if (!inode || inode->i_sb->s_dev != device || !is_directory(inode) ||
	    !is_allowed(dentry->d_parent->d_inode))
		return 0;
	key.inode = inode->i_ino;
	/* When there is no room it stays unlisted, and so denied. */
	bpf_map_update_elem(&entries, &key, &entry, BPF_NOEXIST);
	return 0;
}

SEC("lsm/inode_free_security")
int BPF_PROG(allow_free, struct inode *inode)
{
	struct allow_key key = {.device = device};
	__u32 *entry;

	if (inode->i_sb->s_dev != device || !is_directory(inode))
		return 0;
	key.inode = inode->i_ino;
	entry = bpf_map_lookup_elem(&entries, &key);
	if (entry && *entry == ENTRY_INHERITED)
		bpf_map_delete_elem(&entries, &key);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
