// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/identity.h"

#include "arch/sys.h"
#include "policy/become.h"
#include "policy/tomoyo.h"
#include "protocol/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What a worker finds itself to be, left in shared memory. */
struct self {
	bool done;
	const char *failed; /* a constant of this program, so the parent can read it */
	int error;
	unsigned int user;
	uint64_t capabilities;
	bool denied_outside;
	int filters;
	char context[256];
	char tomoyo_domain[256]; /* TOMOYO has no part in the file that has the context */
};

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	sys4(SYS_capget, (long)&header, (long)data, 0, 0);
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

/* What the first module that answers calls this process; nothing if none does. */
static void read_context(char *context, size_t size)
{
	int fd = sys_open("/proc/self/attr/current", O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, context, size - 1);

	context[n < 0 ? 0 : n] = '\0';
	context[strcspn(context, "\n")] = '\0';
	if (fd >= 0)
		sys_close(fd);
}

static _Noreturn void examine_and_exit(const struct request *request, const char *work,
				       struct self *self)
{
	static struct request first, then;
	int fd;

	/* In two parts: Landlock puts the files with context and domain out of reach. */
	first = *request;
	first.landlock.layers = 0;
	then = (struct request){.landlock = request->landlock};
	self->failed = become(&first, work);
	if (!self->failed) {
		read_context(self->context, sizeof(self->context));
		tomoyo_domain(self->tomoyo_domain, sizeof(self->tomoyo_domain));
		self->filters = seccomp_count();
		self->failed = become(&then, work);
	}
	self->error = errno;
	self->user = geteuid();
	self->capabilities = effective_capabilities();
	fd = sys_open("/proc/version", O_RDONLY, 0);
	self->denied_outside = fd == -EACCES;
	self->done = true;
	_exit(0);
}

/* The label of what the benchmarks work on, as SELinux sees it. */
static void label_fact(const char *work)
{
	char label[256];
	ssize_t n = lgetxattr(work, "security.selinux", label, sizeof(label) - 1);

	if (n <= 0)
		return;
	label[n] = '\0';
	channel_fact("work.label", "%s", label);
}

void identity_facts(const struct request *request, const char *work)
{
	struct self *self = mmap(NULL, sizeof(*self), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = self == MAP_FAILED ? -1 : fork();

	if (child == 0)
		examine_and_exit(request, work, self);
	if (child > 0)
		waitpid(child, NULL, 0);
	label_fact(work);
	if (child < 0 || !self->done) {
		channel_error("no worker could be examined");
	} else if (self->failed) {
		channel_error("%s: %s", self->failed, strerror(self->error));
	} else {
		channel_fact("worker.uid", "%u", self->user);
		if (*self->context)
			channel_fact("worker.context", "%s", self->context);
		if (*self->tomoyo_domain)
			channel_fact("worker.tomoyo_domain", "%s", self->tomoyo_domain);
		channel_fact("worker.capabilities", "%016" PRIx64, self->capabilities);
		if (request->seccomp.filters) {
			channel_fact("seccomp.filters", "%d", self->filters);
			channel_fact("seccomp.length", "%lu", request->seccomp.length);
		}
		channel_fact("landlock.layers", "%lu", request->landlock.layers);
		if (request->landlock.layers) {
			channel_fact("landlock.rules", "%lu", request->landlock.rules);
			channel_fact("landlock.depth", "%lu", request->landlock.depth);
			channel_fact("landlock.denies_outside", "%d", self->denied_outside);
		}
	}
	if (self != MAP_FAILED)
		munmap(self, sizeof(*self));
}
