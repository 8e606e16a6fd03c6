// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/labels_check.h"

#include "arch/sys.h"
#include "net/ipsec.h"
#include "net/labels.h"
#include "net/network.h"
#include "net/peer.h"
#include "net/secmark.h"
#include "policy/become.h"
#include "protocol/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a worker found on one link. */
struct found {
	const char *failed; /* a constant of this program, so the parent can read it */
	long error;
	char label[256];
	int option; /* the first option of a datagram (IPv6: hop by hop); 0: it has none */
};

static int end(bool veth, int type, bool in_peer, struct inet_address *address)
{
	const int family = labels_made()->family;

	*address = veth ? network_address(family, in_peer) : network_loopback(family);
	return network_bind(veth && in_peer ? peer_socket(family, type)
					    : (int)sys4(SYS_socket, family, type, 0, 0),
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

static long ask_for_options(int fd, bool six)
{
	static const int on = 1;

	return sys6(SYS_setsockopt, fd, six ? IPPROTO_IPV6 : IPPROTO_IP,
		    six ? IPV6_RECVHOPOPTS : IP_RECVOPTS, (long)&on, sizeof(on), 0);
}

/* The IP option of a datagram. */
static bool try_datagram(bool veth, struct found *found)
{
	const bool six = labels_made()->family == AF_INET6;
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
	    !went(found, "asking for options", ask_for_options(from, six)) ||
	    !went(found, "connecting", sys4(SYS_connect, to, (long)&server, server.size, 0)) ||
	    !went(found, "sending", sys_write(to, &byte, 1)) ||
	    !went(found, "receiving", sys4(SYS_recvmsg, from, (long)&message, 0, 0)))
		return false;
	/* A hop-by-hop header begins with what comes next, and its length. */
	if (message.msg_controllen &&
	    control.header.cmsg_type == (six ? IPV6_HOPOPTS : IP_RECVOPTS))
		found->option = CMSG_DATA(&control.header)[six ? 2 : 0];
	return true;
}

static void examine(const struct request *request, const char *work, struct found *found)
{
	const struct labels *labels = labels_made();
	const char *failed = labels->alone ? NULL : peer_open(request, work);

	if (!failed)
		failed = become(request, work);
	for (int veth = 0; veth < 2 - labels->alone; veth++) {
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
static void tell_counted(const char *key, uint64_t own, uint64_t peer)
{
	channel_fact(key, "%s", own && peer ? "counted" : "idle");
}

void labels_facts(const struct request *request, const char *work)
{
	const struct labels *labels = labels_made();
	struct found *found;
	uint64_t own, peer;
	pid_t child;

	if (!labels->wanted)
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
	if (!labels->alone)
		tell("veth", &found[1]);
	munmap(found, 2 * sizeof(*found));
	if (!labels->marked && !labels->protected)
		return;
	own = labels->marked ? secmark_packets() : ipsec_packets(false);
	network_enter(true);
	peer = labels->marked ? secmark_packets() : ipsec_packets(true);
	network_enter(false);
	if (labels->marked)
		tell_counted("net.secmark", own, peer);
	if (labels->protected)
		tell_counted("net.ipsec", own, peer);
}
