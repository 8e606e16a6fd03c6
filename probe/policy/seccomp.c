// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/seccomp.h"

#include "arch/sys.h"
#include "protocol/limits.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/*
 * The kernel remembers calls that a filter allows whatever their arguments are, and does not run it
 * for them again (Linux 5.11). A filter that looks at an argument is run each time.
 */
void seccomp_fill(struct sock_filter *filter, unsigned long length)
{
	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args[0]));
	for (unsigned long i = 1; i + 1 < length; i++)
		filter[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1);
	filter[length - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

int seccomp_restrict(const struct seccomp_shape *shape)
{
	static struct sock_filter filter[MAX_SECCOMP_LENGTH];
	struct sock_fprog program = {.len = (unsigned short)shape->length, .filter = filter};
	long error = 0;

	if (shape->length < 2 || shape->length > MAX_SECCOMP_LENGTH)
		return -EINVAL;
	seccomp_fill(filter, shape->length);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	for (unsigned long i = 0; i < shape->filters && !error; i++)
		error = sys4(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0);
	return (int)error;
}

int seccomp_count(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	int count = -ENOENT;
	char line[256];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "Seccomp_filters:", 16))
			count = atoi(line + 16);
	}
	fclose(file);
	return count;
}
