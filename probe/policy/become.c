// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/become.h"

#include "policy/landlock.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

/* Write what puts this process into its domain, profile or label. */
static const char *confine(const struct request *request)
{
	struct words words;

	for (size_t i = 0; i < request->n_confine; i++) {
		int fd;
		ssize_t n;

		errno = EINVAL;
		if (text_split(request->confine[i], &words) || words.count != 2)
			return "reading how to be confined";
		fd = open(words.word[0], O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return "opening the file that confines";
		n = write(fd, words.word[1], strlen(words.word[1]));
		if (n < 0) {
			int error = errno;

			close(fd);
			errno = error;
			return "being confined";
		}
		close(fd);
	}
	return NULL;
}

const char *become(const struct request *request, const char *work)
{
	const char *failed;
	int error;

	failed = confine(request);
	if (failed)
		return failed;
	if (request->ordinary_user && geteuid() == 0 &&
	    (setgroups(0, NULL) || setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) ||
	     setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER)))
		return "becoming the ordinary user";
	if (request->seccomp.filters) {
		error = seccomp_restrict(&request->seccomp);
		if (error) {
			errno = -error;
			return "being put under seccomp filters";
		}
	}
	if (request->landlock.layers) {
		error = landlock_restrict(work, &request->landlock);
		if (error) {
			errno = -error;
			return "restricting with Landlock";
		}
	}
	return NULL;
}
