// SPDX-License-Identifier: GPL-2.0-or-later
#include "state.h"

#include <string.h>

#define MAX_ERRNO 4095

uint64_t *call_now(void)
{
	struct task *task = all.now;

	if (task->call == NO_CALL || top()->account != ACCOUNT_NONE)
		return NULL;
	return task->call == ENTERING ? task->entering
				      : all.of[task->account].call[task->call].kernel;
}

void accounts_syscall(void)
{
	accounts_settle();
	reset_task(all.now);
	all.now->call = ENTERING;
	memset(all.now->entering, 0, sizeof(all.now->entering));
	all.of[account_now()].syscalls++;
}

/* A system call may begin with another's function, of which it is a part. */
void accounts_call(unsigned int number)
{
	struct call *call = &all.of[all.now->account].call[number];

	if (all.now->call != ENTERING || top()->account != ACCOUNT_NONE)
		return;
	accounts_settle();
	all.now->call = (int)number;
	call->calls++;
	for (unsigned int i = 0; i < all.modules; i++)
		call->kernel[i] += all.now->entering[i];
}

void accounts_result(const int64_t *value)
{
	const struct task *task = all.now;

	if (task->call < 0 || top()->account != ACCOUNT_NONE)
		return;
	if (!value) {
		all.unread++;
		return;
	}
	all.of[task->account].results++;
	if (*value < 0 && *value >= -MAX_ERRNO)
		all.of[task->account].call[task->call].errors++;
}

void accounts_return(void)
{
	accounts_settle();
	all.now->returning = true;
}
