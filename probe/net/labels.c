// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/labels.h"

#include "arch/sys.h"
#include "net/ipsec.h"
#include "net/netlink.h"
#include "net/network.h"
#include "net/secmark.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdbool.h>
#include <sys/socket.h>

/* What the kernel keeps to itself of the protocol (net/netlabel, include/net/netlabel.h). */
enum {
	PROTOCOL_VERSION_NETLABEL = 3,
	CIPSO_ADD = 1,
	CIPSO_DOI = 1,
	CIPSO_TYPE = 2,
	CIPSO_TAG = 3,
	CIPSO_TAGS = 4,
	CALIPSO_ADD = 1,
	CALIPSO_DOI = 1,
	CALIPSO_TYPE = 2,
	PASS = 2, /* levels and categories are the policy's own */
	MAP_ADD_DEFAULT = 4,
	MAP_REMOVE_DEFAULT = 5,
	MAP_PROTOCOL = 2,
	MAP_DOI = 4,
	MAP_FAMILY = 11,
	MAP_CALIPSO_DOI = 12,
	BY_CIPSO = 3,
	UNLABELLED = 5,
	BY_CALIPSO = 7,
	DOI = 1,
	TAG_BITMAP = 1,
};

static struct labels labels = {.family = AF_INET};

const struct labels *labels_made(void)
{
	return &labels;
}

static int join(void)
{
	labels.wanted = true;
	return network_join();
}

int labels_network(void)
{
	int error = join();

	labels.alone = error;
	return error == -EOPNOTSUPP ? 0 : error;
}

static void command(struct netlink *netlink, int family, int what)
{
	const struct genlmsghdr header = {.cmd = (uint8_t)what,
					  .version = PROTOCOL_VERSION_NETLABEL};

	netlink_begin(netlink, family, 0, &header, sizeof(header));
}

/* Who has no mapping of a domain of its own sends one protocol labelled, the other without. */
static int map_default(struct netlink *netlink, int family)
{
	const uint16_t other = labels.family == AF_INET ? AF_INET6 : AF_INET;

	command(netlink, family, MAP_REMOVE_DEFAULT);
	command(netlink, family, MAP_ADD_DEFAULT);
	netlink_number(netlink, MAP_PROTOCOL, other == AF_INET ? BY_CALIPSO : BY_CIPSO);
	netlink_number(netlink, other == AF_INET ? MAP_CALIPSO_DOI : MAP_DOI, DOI);
	command(netlink, family, MAP_ADD_DEFAULT);
	netlink_number(netlink, MAP_PROTOCOL, UNLABELLED);
	netlink_put(netlink, MAP_FAMILY, &other, sizeof(other));
	return netlink_send(netlink);
}

static void define_cipso(struct netlink *netlink, int family)
{
	static const uint8_t tag = TAG_BITMAP;
	size_t tags;

	command(netlink, family, CIPSO_ADD);
	netlink_number(netlink, CIPSO_DOI, DOI);
	netlink_number(netlink, CIPSO_TYPE, PASS);
	tags = netlink_nest(netlink, CIPSO_TAGS);
	netlink_put(netlink, CIPSO_TAG, &tag, sizeof(tag));
	netlink_nest_end(netlink, tags);
}

static void define_calipso(struct netlink *netlink, int family)
{
	command(netlink, family, CALIPSO_ADD);
	netlink_number(netlink, CALIPSO_DOI, DOI);
	netlink_number(netlink, CALIPSO_TYPE, PASS);
}

static int label_by(const char *name, void (*define)(struct netlink *netlink, int family))
{
	int by = netlink_family(name), map = netlink_family("NLBL_MGMT");
	int error = join();
	struct netlink netlink;

	if (by < 0 || map < 0)
		return by < 0 ? by : map;
	if (!error)
		error = netlink_open(&netlink, NETLINK_GENERIC);
	if (error)
		return error;
	define(&netlink, by);
	error = netlink_send(&netlink);
	if (!error)
		error = map_default(&netlink, map);
	sys_close(netlink.fd);
	return error;
}

int labels_cipso(void)
{
	return label_by("NLBL_CIPSOv4", define_cipso);
}

int labels_calipso(void)
{
	labels.family = AF_INET6;
	return label_by("NLBL_CALIPSO", define_calipso);
}

int labels_secmark(const char *context)
{
	int error = join();

	labels.marked = true;
	if (!error)
		error = secmark_set(context);
	if (!error)
		error = network_enter(true);
	if (!error) {
		error = secmark_set(context);
		network_enter(false);
	}
	return error;
}

int labels_ipsec(const char *context, const char *policy)
{
	int error = join();

	labels.protected = true;
	if (!error)
		error = ipsec_set(false, context, policy);
	if (!error)
		error = network_enter(true);
	if (!error) {
		error = ipsec_set(true, context, policy);
		network_enter(false);
	}
	return error;
}
