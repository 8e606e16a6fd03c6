// SPDX-License-Identifier: GPL-2.0-or-later
#include "labels.h"

#include "become.h"
#include "channel.h"
#include "far.h"
#include "ipsec.h"
#include "netlink.h"
#include "network.h"
#include "secmark.h"
#include "sys.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the kernel keeps to itself of the protocol (net/netlabel, include/net/netlabel.h). */
enum {
	PROTOCOL_VERSION_NETLABEL = 3,
	CIPSO_ADD = 1,
	CIPSO_DOI = 1,
	CIPSO_TYPE = 2,
	CIPSO_TAG = 3,
	CIPSO_TAGS = 4,
	CIPSO_PASS = 2, /* levels and categories are the policy's own */
	MAP_ADD_DEFAULT = 4,
	MAP_REMOVE_DEFAULT = 5,
	MAP_PROTOCOL = 2,
	MAP_DOI = 4,
	MAP_FAMILY = 11,
	BY_CIPSO = 3,
	UNLABELLED = 5,
	DOI = 1,
	TAG_BITMAP = 1,
};

static bool wanted, marked, protected;
static bool alone; /* there is no link to a far namespace */

static int join(void)
{
	wanted = true;
	return network_join();
}

int labels_network(void)
{
	int error = join();

	alone = error;
	return error == -EOPNOTSUPP ? 0 : error;
}

static void command(struct netlink *netlink, int family, int what)
{
	const struct genlmsghdr header = {.cmd = (uint8_t)what,
					  .version = PROTOCOL_VERSION_NETLABEL};

	netlink_begin(netlink, family, 0, &header, sizeof(header));
}

/* Who has no mapping of a domain of its own sends IPv4 by CIPSO, and IPv6 without a label. */
static int map_default(struct netlink *netlink, int family)
{
	static const uint16_t six = AF_INET6;

	command(netlink, family, MAP_REMOVE_DEFAULT);
	command(netlink, family, MAP_ADD_DEFAULT);
	netlink_number(netlink, MAP_PROTOCOL, BY_CIPSO);
	netlink_number(netlink, MAP_DOI, DOI);
	command(netlink, family, MAP_ADD_DEFAULT);
	netlink_number(netlink, MAP_PROTOCOL, UNLABELLED);
	netlink_put(netlink, MAP_FAMILY, &six, sizeof(six));
	return netlink_send(netlink);
}

int labels_cipso(void)
{
	static const uint8_t tag = TAG_BITMAP;
	int cipso = netlink_family("NLBL_CIPSOv4"), map = netlink_family("NLBL_MGMT");
	int error = join();
	struct netlink netlink;
	size_t tags;

	if (cipso < 0 || map < 0)
		return cipso < 0 ? cipso : map;
	if (!error)
		error = netlink_open(&netlink, NETLINK_GENERIC);
	if (error)
		return error;
	command(&netlink, cipso, CIPSO_ADD);
	netlink_number(&netlink, CIPSO_DOI, DOI);
	netlink_number(&netlink, CIPSO_TYPE, CIPSO_PASS);
	tags = netlink_nest(&netlink, CIPSO_TAGS);
	netlink_put(&netlink, CIPSO_TAG, &tag, sizeof(tag));
	netlink_nest_end(&netlink, tags);
	error = netlink_send(&netlink);
	if (!error)
		error = map_default(&netlink, map);
	sys_close(netlink.fd);
	return error;
}

int labels_secmark(const char *context)
{
	int error = join();

	marked = true;
	if (!error)
		error = secmark_set(context);
	if (!error)
		error = network_go(true);
	if (!error) {
		error = secmark_set(context);
		network_go(false);
	}
	return error;
}

int labels_ipsec(const char *context, const char *policy)
{
	int error = join();

	protected = true;
	if (!error)
		error = ipsec_set(false, context, policy);
	if (!error)
		error = network_go(true);
	if (!error) {
		error = ipsec_set(true, context, policy);
		network_go(false);
	}
	return error;
}

/* What a worker found on one link. */
struct found {
	const char *failed; /* a constant of this program, so the parent can read it */
	long error;
	char label[256];
	int option; /* the first IP option of a datagram; 0: it has none */
};

static int end(bool veth, int type, bool far, struct inet_address *address)
{
	*address = veth ? network_address(AF_INET, far) : network_loopback(AF_INET);
	return network_bind(veth && far ? far_socket(AF_INET, type)
					: (int)sys4(SYS_socket, AF_INET, type, 0, 0),
			    address);
}

static bool went(struct found *found, const char *what, long result)
{
	if (result >= 0)
		return true;
	found->failed = what;
	found->error = result;
	return false;
}

/* The label of who connects, once a byte of it has arrived. */
static bool try_connection(bool veth, struct found *found)
{
	struct inet_address server, client;
	int listening = end(veth, SOCK_STREAM, true, &server);
	int to = end(veth, SOCK_STREAM, false, &client);
	int bytes = sizeof(found->label) - 1;
	long from = -EBADF, error;
	char byte = 0;

	if (!went(found, "making sockets", listening < to ? listening : to) ||
	    !went(found, "listening", sys4(SYS_listen, listening, 1, 0, 0)) ||
	    !went(found, "connecting", sys4(SYS_connect, to, (long)&server, server.size, 0)) ||
	    !went(found, "accepting", from = sys4(SYS_accept, listening, 0, 0, 0)) ||
	    !went(found, "writing", sys_write(to, &byte, 1)) ||
	    !went(found, "reading", sys4(SYS_read, from, (long)&byte, 1, 0)))
		return false;
	error = sys6(SYS_getsockopt, from, SOL_SOCKET, SO_PEERSEC, (long)found->label, (long)&bytes,
		     0);
	if (error)
		strcpy(found->label, "none");
	return error == -ENOPROTOOPT || went(found, "asking for the label", error);
}

/* The IP option of a datagram. */
static bool try_datagram(bool veth, struct found *found)
{
	static const int on = 1;
	union {
		struct cmsghdr header;
		unsigned char room[CMSG_SPACE(64)];
	} control;
	char byte = 0;
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct inet_address server, client;
	int from = end(veth, SOCK_DGRAM, true, &server);
	int to = end(veth, SOCK_DGRAM, false, &client);

	if (!went(found, "making sockets", from < to ? from : to) ||
	    !went(found, "asking for options",
		  sys6(SYS_setsockopt, from, IPPROTO_IP, IP_RECVOPTS, (long)&on, sizeof(on), 0)) ||
	    !went(found, "connecting", sys4(SYS_connect, to, (long)&server, server.size, 0)) ||
	    !went(found, "sending", sys_write(to, &byte, 1)) ||
	    !went(found, "receiving", sys4(SYS_recvmsg, from, (long)&message, 0, 0)))
		return false;
	if (message.msg_controllen && control.header.cmsg_type == IP_RECVOPTS)
		found->option = *CMSG_DATA(&control.header);
	return true;
}

static void examine(const struct request *request, const char *work, struct found *found)
{
	const char *failed = alone ? NULL : far_open(request, work);

	if (!failed)
		failed = become(request, work);
	for (int veth = 0; veth < 2 - alone; veth++) {
		if (failed) {
			found[veth].failed = failed;
			found[veth].error = -errno;
			continue;
		}
		if (try_connection(veth, &found[veth]) && try_datagram(veth, &found[veth]))
			found[veth].failed = NULL;
	}
}

static void tell(const char *link, const struct found *found)
{
	char key[32], number[16] = "none";

	if (found->failed) {
		channel_error("the %s network: %s: %s", link, found->failed,
			      strerror((int)-found->error));
		return;
	}
	snprintf(key, sizeof(key), "net.peer.%s", link);
	channel_fact(key, "%s", found->label);
	snprintf(key, sizeof(key), "net.option.%s", link);
	if (found->option)
		snprintf(number, sizeof(number), "%d", found->option);
	channel_fact(key, "%s", number);
}

/* Both ends of the link must have counted. */
static void tell_counted(const char *key, uint64_t near, uint64_t far)
{
	channel_fact(key, "%s", near && far ? "counted" : "idle");
}

void labels_facts(const struct request *request, const char *work)
{
	struct found *found;
	uint64_t near, far;
	pid_t child;

	if (!wanted)
		return;
	found = mmap(NULL, 2 * sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (found == MAP_FAILED)
		return;
	found[0].failed = found[1].failed = "no answer in 10 s";
	found[0].error = found[1].error = -ETIMEDOUT;
	child = fork();
	if (!child) {
		/* What does not arrive is waited for, but not for ever. */
		alarm(10);
		examine(request, work, found);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) != child)
		;
	tell("loopback", &found[0]);
	if (!alone)
		tell("veth", &found[1]);
	munmap(found, 2 * sizeof(*found));
	if (!marked && !protected)
		return;
	near = marked ? secmark_packets() : ipsec_packets(false);
	network_go(true);
	far = marked ? secmark_packets() : ipsec_packets(true);
	network_go(false);
	if (marked)
		tell_counted("net.secmark", near, far);
	if (protected)
		tell_counted("net.ipsec", near, far);
}
