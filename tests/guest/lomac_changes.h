/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every way of changing a tree, tried high and low. Part of lomac_rules.c, whose functions it uses.
 */
/* Each of these changes something below `top`; paths that do not exist yet are made by it. */
static char first[64], second[64];

static const char *at(const char *top, const char *name)
{
	snprintf(first, sizeof(first), "%s/%s", top, name);
	return first;
}

static int allocate(const char *path)
{
	int fd = open(path, O_WRONLY);

	return fd < 0 ? errno : result(fallocate(fd, 0, 0, 4096));
}

static int change(const char *what, const char *top)
{
	const char *path = at(top, "new");

	snprintf(second, sizeof(second), "%s/file2", top);
	if (!strcmp(what, "creat"))
		return result(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
	if (!strcmp(what, "mkdir"))
		return result(mkdir(path, 0755));
	if (!strcmp(what, "mknod"))
		return result(mknod(path, S_IFIFO | 0644, 0));
	if (!strcmp(what, "symlink"))
		return result(symlink("/", path));
	if (!strcmp(what, "link"))
		return result(link(second, path));
	if (!strcmp(what, "rename"))
		return result(rename(second, path));
	if (!strcmp(what, "truncate"))
		return result(truncate(second, 0));
	if (!strcmp(what, "chmod"))
		return result(chmod(second, 0600));
	if (!strcmp(what, "chown"))
		return result(chown(second, 1, 1));
	if (!strcmp(what, "times"))
		return result(utimensat(AT_FDCWD, second, NULL, 0));
	if (!strcmp(what, "setxattr"))
		return result(setxattr(second, "security.lsmeter", "x", 1, 0));
	if (!strcmp(what, "open-truncate"))
		return result(open(second, O_WRONLY | O_TRUNC));
	if (!strcmp(what, "fallocate"))
		return allocate(second);
	if (!strcmp(what, "unlink"))
		return result(unlink(second));
	return result(rmdir(at(top, "empty")));
}

static const char *const changes[] = {
	"creat", "mkdir", "mknod",    "symlink",       "link",	    "rename", "truncate", "chmod",
	"chown", "times", "setxattr", "open-truncate", "fallocate", "unlink", "rmdir",
};

static void prepare(const char *top)
{
	char path[64];

	mkdir(top, 0755);
	snprintf(path, sizeof(path), "%s/empty", top);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/new", top);
	rmdir(path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/file", top);
	close(open(path, O_WRONLY | O_CREAT, 0644));
	(void)!truncate(path, 4096);
	snprintf(path, sizeof(path), "%s/file2", top);
	close(open(path, O_WRONLY | O_CREAT, 0644));
	snprintf(path, sizeof(path), "%s/link", top);
	(void)!symlink(HIGH "/file", path);
}

static const char *now_change, *now_top;

static int low_changes(void)
{
	fall();
	return change(now_change, now_top);
}

static int high_changes(void)
{
	return change(now_change, now_top);
}

static int low_links_high_into_low(void)
{
	fall();
	return result(link(HIGH "/file", LOW "/new"));
}

static int low_moves_high_into_low(void)
{
	fall();
	return result(rename(HIGH "/file2", LOW "/new"));
}

static int low_moves_low_into_high(void)
{
	fall();
	return result(rename(LOW "/file2", HIGH "/new"));
}

static int low_swaps(void)
{
	fall();
	return result(renameat2(AT_FDCWD, LOW "/file2", AT_FDCWD, HIGH "/file2", 2));
}

static int low_moves_low_aside(void)
{
	fall();
	return result(rename(LOW, "/data/aside"));
}
