// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/secmark.h"

#include "arch/sys.h"
#include "net/netlink.h"

#include <endian.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define TABLE	"lsmeter"
#define OBJECT	"mark"
#define PACKETS "packets"
#define TRIAL	"trial" /* no rule has it */

static void begin(struct netlink *netlink, int message, int flags)
{
	const struct nfgenmsg header = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};

	netlink_begin(netlink, NFNL_SUBSYS_NFTABLES << 8 | message, flags, &header, sizeof(header));
}

/* What stands around messages that take effect together. */
static void bound(struct netlink *netlink, int message)
{
	const struct nfgenmsg header = {.res_id = htobe16(NFNL_SUBSYS_NFTABLES)};

	netlink_begin(netlink, message, NLM_F_ECHO, &header, sizeof(header));
}

static size_t object(struct netlink *netlink, const char *name, uint32_t type)
{
	begin(netlink, NFT_MSG_NEWOBJ, NLM_F_CREATE);
	netlink_text(netlink, NFTA_OBJ_TABLE, TABLE);
	netlink_text(netlink, NFTA_OBJ_NAME, name);
	netlink_network(netlink, NFTA_OBJ_TYPE, type);
	return netlink_nest(netlink, NFTA_OBJ_DATA);
}

static void use_object(struct netlink *netlink, const char *name, uint32_t type)
{
	size_t element = netlink_nest(netlink, NFTA_LIST_ELEM), data;

	netlink_text(netlink, NFTA_EXPR_NAME, "objref");
	data = netlink_nest(netlink, NFTA_EXPR_DATA);
	netlink_network(netlink, NFTA_OBJREF_IMM_TYPE, type);
	netlink_text(netlink, NFTA_OBJREF_IMM_NAME, name);
	netlink_nest_end(netlink, data);
	netlink_nest_end(netlink, element);
}

/* A chain with one rule: count and mark every packet. */
static void chain(struct netlink *netlink, const char *name, uint32_t hook)
{
	size_t nest;

	begin(netlink, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	netlink_text(netlink, NFTA_CHAIN_TABLE, TABLE);
	netlink_text(netlink, NFTA_CHAIN_NAME, name);
	netlink_text(netlink, NFTA_CHAIN_TYPE, "filter");
	nest = netlink_nest(netlink, NFTA_CHAIN_HOOK);
	netlink_network(netlink, NFTA_HOOK_HOOKNUM, hook);
	netlink_network(netlink, NFTA_HOOK_PRIORITY, 50); /* NF_IP_PRI_SECURITY */
	netlink_nest_end(netlink, nest);
	begin(netlink, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	netlink_text(netlink, NFTA_RULE_TABLE, TABLE);
	netlink_text(netlink, NFTA_RULE_CHAIN, name);
	nest = netlink_nest(netlink, NFTA_RULE_EXPRESSIONS);
	use_object(netlink, PACKETS, NFT_OBJECT_COUNTER);
	use_object(netlink, OBJECT, NFT_OBJECT_SECMARK);
	netlink_nest_end(netlink, nest);
}

void secmark_table(struct netlink *netlink)
{
	bound(netlink, NFNL_MSG_BATCH_BEGIN);
	begin(netlink, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	netlink_text(netlink, NFTA_TABLE_NAME, TABLE);
	bound(netlink, NFNL_MSG_BATCH_END);
}

void secmark_object(struct netlink *netlink, const char *context)
{
	size_t nest;

	bound(netlink, NFNL_MSG_BATCH_BEGIN);
	nest = object(netlink, TRIAL, NFT_OBJECT_SECMARK);
	netlink_text(netlink, NFTA_SECMARK_CTX, context);
	netlink_nest_end(netlink, nest);
	bound(netlink, NFNL_MSG_BATCH_END);
}

void secmark_no_object(struct netlink *netlink)
{
	bound(netlink, NFNL_MSG_BATCH_BEGIN);
	begin(netlink, NFT_MSG_DELOBJ, 0);
	netlink_text(netlink, NFTA_OBJ_TABLE, TABLE);
	netlink_text(netlink, NFTA_OBJ_NAME, TRIAL);
	netlink_network(netlink, NFTA_OBJ_TYPE, NFT_OBJECT_SECMARK);
	bound(netlink, NFNL_MSG_BATCH_END);
}

int secmark_set(const char *context)
{
	struct netlink netlink;
	int error = netlink_open(&netlink, NETLINK_NETFILTER);
	size_t nest;

	if (error)
		return error;
	bound(&netlink, NFNL_MSG_BATCH_BEGIN);
	begin(&netlink, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	netlink_text(&netlink, NFTA_TABLE_NAME, TABLE);
	nest = object(&netlink, PACKETS, NFT_OBJECT_COUNTER);
	netlink_nest_end(&netlink, nest);
	nest = object(&netlink, OBJECT, NFT_OBJECT_SECMARK);
	netlink_text(&netlink, NFTA_SECMARK_CTX, context);
	netlink_nest_end(&netlink, nest);
	chain(&netlink, "input", NF_INET_LOCAL_IN);
	chain(&netlink, "output", NF_INET_LOCAL_OUT);
	bound(&netlink, NFNL_MSG_BATCH_END);
	error = netlink_send(&netlink);
	sys_close(netlink.fd);
	return error;
}

static uint64_t packets_in(const struct nlattr *data)
{
	const struct nlattr *found;
	uint64_t packets = 0;

	found = data ? netlink_find((const char *)data + NLA_HDRLEN, data->nla_len - NLA_HDRLEN,
				    NFTA_COUNTER_PACKETS)
		     : NULL;
	if (found)
		memcpy(&packets, (const char *)found + NLA_HDRLEN, sizeof(packets));
	return be64toh(packets);
}

uint64_t secmark_packets(void)
{
	const size_t headers = NLMSG_HDRLEN + sizeof(struct nfgenmsg);
	struct netlink netlink;
	uint64_t packets = 0;
	long n;

	if (netlink_open(&netlink, NETLINK_NETFILTER))
		return 0;
	begin(&netlink, NFT_MSG_GETOBJ, 0);
	netlink_text(&netlink, NFTA_OBJ_TABLE, TABLE);
	netlink_text(&netlink, NFTA_OBJ_NAME, PACKETS);
	netlink_network(&netlink, NFTA_OBJ_TYPE, NFT_OBJECT_COUNTER);
	n = netlink_ask(&netlink);
	if (n > (long)headers)
		packets = packets_in(
			netlink_find(netlink.data + headers, n - (long)headers, NFTA_OBJ_DATA));
	sys_close(netlink.fd);
	return packets;
}
