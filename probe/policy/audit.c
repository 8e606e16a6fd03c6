// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/audit.h"

#include "protocol/channel.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A message of the kernel's is at most a rule with its strings (MAX_AUDIT_MESSAGE_LENGTH). */
#define ANSWER_BYTES 16384

/* Guest time in which the kernel has to answer. */
#define ANSWER_S 2

union answer {
	struct nlmsghdr head;
	char bytes[ANSWER_BYTES];
};

static int ask(int fd, int type)
{
	struct nlmsghdr question = {
		.nlmsg_len = sizeof(question),
		.nlmsg_type = (uint16_t)type,
		.nlmsg_flags = NLM_F_REQUEST,
		.nlmsg_seq = 1,
	};

	return send(fd, &question, sizeof(question), 0) == sizeof(question) ? 0 : -1;
}

/* The next message; NULL when none comes. */
static const struct nlmsghdr *hear(int fd, union answer *answer)
{
	ssize_t n = recv(fd, answer, sizeof(*answer), 0);

	if (n < (ssize_t)sizeof(answer->head) || answer->head.nlmsg_len > (size_t)n)
		return NULL;
	return &answer->head;
}

static bool status_facts(int fd, union answer *answer)
{
	const struct nlmsghdr *head;
	struct audit_status status;
	size_t size;

	if (ask(fd, AUDIT_GET))
		return false;
	while ((head = hear(fd, answer)) && head->nlmsg_type != AUDIT_GET) {
		if (head->nlmsg_type == NLMSG_ERROR)
			return false;
	}
	if (!head)
		return false;
	memset(&status, 0, sizeof(status));
	size = head->nlmsg_len - sizeof(*head);
	memcpy(&status, NLMSG_DATA(head), size < sizeof(status) ? size : sizeof(status));
	channel_fact("audit.enabled", "%u", status.enabled);
	channel_fact("audit.failure", "%u", status.failure);
	channel_fact("audit.backlog_limit", "%u", status.backlog_limit);
	return true;
}

static void rules_fact(int fd, union answer *answer)
{
	const struct nlmsghdr *head;
	unsigned int rules = 0;

	if (ask(fd, AUDIT_LIST_RULES))
		return;
	while ((head = hear(fd, answer)) && head->nlmsg_type != NLMSG_DONE) {
		if (head->nlmsg_type == NLMSG_ERROR)
			return;
		rules += head->nlmsg_type == AUDIT_LIST_RULES;
	}
	if (head)
		channel_fact("audit.rules", "%u", rules);
}

void audit_facts(void)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	static union answer answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	/* With audit=0 no process of the kernel answers. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    !status_facts(fd, &answer))
		channel_fact("audit.enabled", "none");
	else
		rules_fact(fd, &answer);
	if (fd >= 0)
		close(fd);
}
