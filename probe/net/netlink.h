/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the kernel over netlink, and its answers. Nothing here needs the C library's errno:
 * functions return 0 or -errno.
 */
#ifndef LSMETER_NET_NETLINK_H
#define LSMETER_NET_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES 4096

/* Messages that are sent together. What does not fit ends the program: all of them are ours. */
struct netlink {
	int fd;
	uint32_t acks; /* that the messages ask for */
	size_t size;
	size_t last; /* where the last message begins */
	char data[NETLINK_BYTES] __attribute__((aligned(8)));
};

/* Open a socket of this protocol; messages are empty. */
int netlink_open(struct netlink *netlink, int protocol);

/* Empty the messages, to write others. */
void netlink_empty(struct netlink *netlink);

/*
 * Begin a message with the header that its family wants. It asks for an acknowledgement unless
 * flags has NLM_F_ECHO, which is left out: what begins and ends a batch is not answered.
 */
void netlink_begin(struct netlink *netlink, int type, int flags, const void *header, size_t bytes);

/* Attributes of the message; those of a nest stand between its begin and its end. */
void netlink_put(struct netlink *netlink, int type, const void *data, size_t bytes);
void netlink_text(struct netlink *netlink, int type, const char *text);
void netlink_number(struct netlink *netlink, int type, uint32_t number);
void netlink_network(struct netlink *netlink, int type, uint32_t number); /* big-endian */
size_t netlink_nest(struct netlink *netlink, int type);
void netlink_nest_end(struct netlink *netlink, size_t nest);

/* Send the messages and take every acknowledgement; the first error. */
int netlink_send(struct netlink *netlink);

/* Send one question and leave its answer in data, of which the bytes are returned; or -errno. */
long netlink_ask(struct netlink *netlink);

/* The first attribute of this type in so many bytes of attributes; NULL if there is none. */
const struct nlattr *netlink_find(const void *attributes, long bytes, int type);

/* The number of a generic netlink family by its name; or -errno. */
int netlink_family(const char *name);

#endif
