/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that runs once, in a tree of files of its own: /setup/tree of the initramfs, which is
 * copied to the file system of the experiment, with the guest's /dev, /proc and /sys. It is put
 * under the policy of the setup as a worker is, and counted from its execve() on.
 *
 *	command DIRECTORY STATUS	where in the tree it begins, and how it must leave
 *	environment NAME=VALUE		all of its environment
 */
#ifndef LSMETER_WORKLOAD_COMMAND_H
#define LSMETER_WORKLOAD_COMMAND_H

#include "protocol/request.h"
#include "workload/program.h"

/* What the command reads. */
#define COMMAND_INPUT "/setup/input"

/* Make the tree, which `work` is then. Returns NULL, or what failed, with errno. */
const char *command_prepare(const struct request *request, const char *work);

/* The status that the command must leave with. */
int command_expected(void);

/* In its process: enter domain and tree; its environment. It is ended where that fails. */
char *const *command_enter(void);

/* What it said, and how it ended, as facts. */
void command_facts(const struct program *program);

#endif
