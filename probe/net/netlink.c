// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/netlink.h"

#include "arch/sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int netlink_open(struct netlink *netlink, int protocol)
{
	netlink->fd = (int)sys4(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol, 0);
	netlink_empty(netlink);
	return netlink->fd < 0 ? netlink->fd : 0;
}

void netlink_empty(struct netlink *netlink)
{
	netlink->size = netlink->last = 0;
	netlink->acks = 0;
}

static void *reserve(struct netlink *netlink, size_t bytes)
{
	char *at = netlink->data + netlink->size;

	if (NLMSG_ALIGN(bytes) > sizeof(netlink->data) - netlink->size)
		abort();
	memset(at, 0, NLMSG_ALIGN(bytes));
	netlink->size += NLMSG_ALIGN(bytes);
	return at;
}

/* The length of the message up to here. */
static void measure(struct netlink *netlink)
{
	struct nlmsghdr *message = (void *)(netlink->data + netlink->last);

	message->nlmsg_len = (uint32_t)(netlink->size - netlink->last);
}

void netlink_begin(struct netlink *netlink, int type, int flags, const void *header, size_t bytes)
{
	struct nlmsghdr *message;

	netlink->last = netlink->size;
	message = reserve(netlink, sizeof(*message));
	message->nlmsg_type = (uint16_t)type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	if (flags & NLM_F_ECHO) {
		message->nlmsg_flags ^= NLM_F_ECHO;
	} else {
		message->nlmsg_flags |= NLM_F_ACK;
		netlink->acks++;
	}
	memcpy(reserve(netlink, bytes), header, bytes);
	measure(netlink);
}

void netlink_put(struct netlink *netlink, int type, const void *data, size_t bytes)
{
	struct nlattr *attribute = reserve(netlink, NLA_HDRLEN + bytes);

	attribute->nla_type = (uint16_t)type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + bytes);
	if (bytes)
		memcpy((char *)attribute + NLA_HDRLEN, data, bytes);
	measure(netlink);
}

void netlink_text(struct netlink *netlink, int type, const char *text)
{
	netlink_put(netlink, type, text, strlen(text) + 1);
}

void netlink_number(struct netlink *netlink, int type, uint32_t number)
{
	netlink_put(netlink, type, &number, sizeof(number));
}

void netlink_network(struct netlink *netlink, int type, uint32_t number)
{
	netlink_number(netlink, type, htonl(number));
}

size_t netlink_nest(struct netlink *netlink, int type)
{
	size_t nest = netlink->size;

	netlink_put(netlink, type | NLA_F_NESTED, NULL, 0);
	return nest;
}

void netlink_nest_end(struct netlink *netlink, size_t nest)
{
	struct nlattr *attribute = (void *)(netlink->data + nest);

	attribute->nla_len = (uint16_t)(netlink->size - nest);
}

static long transmit(const struct netlink *netlink)
{
	return sys6(SYS_sendto, netlink->fd, (long)netlink->data, (long)netlink->size, 0, 0, 0);
}

static long receive(const struct netlink *netlink, void *data, size_t bytes)
{
	return sys6(SYS_recvfrom, netlink->fd, (long)data, (long)bytes, 0, 0, 0);
}

int netlink_send(struct netlink *netlink)
{
	char answer[NETLINK_BYTES] __attribute__((aligned(8)));
	long n = transmit(netlink);
	int error = 0;

	while (n >= 0 && netlink->acks) {
		const struct nlmsghdr *message = (const void *)answer;

		n = receive(netlink, answer, sizeof(answer));
		for (int left = (int)n; n >= 0 && NLMSG_OK(message, left);
		     message = NLMSG_NEXT(message, left)) {
			const struct nlmsgerr *said = NLMSG_DATA(message);

			if (message->nlmsg_type != NLMSG_ERROR)
				continue;
			if (!error)
				error = said->error;
			netlink->acks--;
		}
		if (error)
			break; /* a batch that failed is not answered for each of its messages */
	}
	netlink_empty(netlink);
	return n < 0 ? (int)n : error;
}

long netlink_ask(struct netlink *netlink)
{
	struct nlmsghdr *message = (void *)netlink->data;
	long n;

	message->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
	n = transmit(netlink);
	netlink_empty(netlink);
	if (n < 0)
		return n;
	n = receive(netlink, netlink->data, sizeof(netlink->data));
	if (n >= 0 && message->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(message))->error;
	return n;
}

const struct nlattr *netlink_find(const void *attributes, long bytes, int type)
{
	const char *at = attributes;

	while (bytes >= NLA_HDRLEN) {
		const struct nlattr *attribute = (const void *)at;

		if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > bytes)
			break;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return attribute;
		at += NLA_ALIGN(attribute->nla_len);
		bytes -= NLA_ALIGN(attribute->nla_len);
	}
	return NULL;
}

int netlink_family(const char *name)
{
	static const struct genlmsghdr header = {.cmd = CTRL_CMD_GETFAMILY, .version = 1};
	const struct nlattr *found;
	struct netlink netlink;
	long n = netlink_open(&netlink, NETLINK_GENERIC);
	int number = -ENOENT;

	if (n)
		return (int)n;
	netlink_begin(&netlink, GENL_ID_CTRL, 0, &header, sizeof(header));
	netlink_text(&netlink, CTRL_ATTR_FAMILY_NAME, name);
	n = netlink_ask(&netlink);
	found = n < 0 ? NULL
		      : netlink_find(netlink.data + NLMSG_HDRLEN + GENL_HDRLEN,
				     n - NLMSG_HDRLEN - GENL_HDRLEN, CTRL_ATTR_FAMILY_ID);
	if (found) {
		uint16_t id;

		memcpy(&id, (const char *)found + NLA_HDRLEN, sizeof(id));
		number = id;
	}
	sys_close(netlink.fd);
	return n < 0 ? (int)n : number;
}
