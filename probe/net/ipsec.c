// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/ipsec.h"

#include "arch/sys.h"
#include "net/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/xfrm.h>
#include <string.h>
#include <sys/socket.h>

#define SPI    0x100 /* the first of 8: spi() */
#define REQID  1
#define CIPHER "ecb(cipher_null)"
#define DIGEST "digest_null"

static void put_address(xfrm_address_t *at, int family, bool in_peer)
{
	struct inet_address address = network_address(family, in_peer);

	memset(at, 0, sizeof(*at));
	if (family == AF_INET)
		at->a4 = address.v4.sin_addr.s_addr;
	else
		memcpy(at->a6, &address.v6.sin6_addr, sizeof(at->a6));
}

static void put_context(struct netlink *netlink, const char *context)
{
	struct {
		struct xfrm_user_sec_ctx header;
		char text[256];
	} said = {.header = {.exttype = XFRMA_SEC_CTX,
			     .ctx_alg = XFRM_SC_ALG_SELINUX,
			     .ctx_doi = XFRM_SC_DOI_LSM}};
	size_t length = context ? strlen(context) : 0;

	if (!context || length >= sizeof(said.text))
		return;
	memcpy(said.text, context, length);
	said.header.ctx_len = (uint16_t)length;
	said.header.len = (uint16_t)(sizeof(said.header) + length);
	netlink_put(netlink, XFRMA_SEC_CTX, &said, said.header.len);
}

static struct xfrm_selector selector(struct ipsec_way way)
{
	struct xfrm_selector made = {.family = (uint16_t)way.family};

	put_address(&made.saddr, way.family, way.from_peer);
	put_address(&made.daddr, way.family, !way.from_peer);
	made.prefixlen_s = made.prefixlen_d = way.family == AF_INET ? 32 : 128;
	if (way.trial) {
		made.proto = IPPROTO_UDP;
		made.dport = htons(9); /* discard */
		made.dport_mask = 0xffff;
	}
	return made;
}

static const struct xfrm_lifetime_cfg for_ever = {
	XFRM_INF, XFRM_INF, XFRM_INF, XFRM_INF, 0, 0, 0, 0,
};

static void put_algorithm(struct netlink *netlink, int type, const char *name)
{
	struct xfrm_algo algorithm = {.alg_key_len = 0};

	strcpy(algorithm.alg_name, name);
	netlink_put(netlink, type, &algorithm, sizeof(algorithm));
}

static uint32_t spi(struct ipsec_way way)
{
	return htonl(SPI + 4U * way.trial + 2U * (way.family == AF_INET6) + way.from_peer);
}

void ipsec_association(struct netlink *netlink, struct ipsec_way way, const char *context)
{
	struct xfrm_usersa_info info = {.sel = selector(way),
					.lft = for_ever,
					.reqid = REQID,
					.family = (uint16_t)way.family,
					.mode = XFRM_MODE_TRANSPORT};

	info.saddr = info.sel.saddr;
	info.id.daddr = info.sel.daddr;
	info.id.spi = spi(way);
	info.id.proto = IPPROTO_ESP;
	netlink_begin(netlink, XFRM_MSG_NEWSA, 0, &info, sizeof(info));
	put_algorithm(netlink, XFRMA_ALG_CRYPT, CIPHER);
	put_algorithm(netlink, XFRMA_ALG_AUTH, DIGEST);
	put_context(netlink, context);
}

void ipsec_no_association(struct netlink *netlink, struct ipsec_way way)
{
	struct xfrm_usersa_id id = {
		.spi = spi(way), .family = (uint16_t)way.family, .proto = IPPROTO_ESP};

	put_address(&id.daddr, way.family, !way.from_peer);
	netlink_begin(netlink, XFRM_MSG_DELSA, 0, &id, sizeof(id));
}

void ipsec_policy(struct netlink *netlink, struct ipsec_way way, bool out, const char *context)
{
	struct xfrm_userpolicy_info info = {.sel = selector(way),
					    .lft = for_ever,
					    .dir = out ? XFRM_POLICY_OUT : XFRM_POLICY_IN,
					    .action = XFRM_POLICY_ALLOW};
	struct xfrm_user_tmpl template = {.id = {.proto = IPPROTO_ESP},
					  .family = (uint16_t)way.family,
					  .reqid = REQID,
					  .mode = XFRM_MODE_TRANSPORT,
					  .aalgos = ~0U,
					  .ealgos = ~0U,
					  .calgos = ~0U};

	netlink_begin(netlink, XFRM_MSG_NEWPOLICY, 0, &info, sizeof(info));
	netlink_put(netlink, XFRMA_TMPL, &template, sizeof(template));
	put_context(netlink, context);
}

void ipsec_no_policy(struct netlink *netlink, struct ipsec_way way, bool out, const char *context)
{
	struct xfrm_userpolicy_id id = {.sel = selector(way),
					.dir = out ? XFRM_POLICY_OUT : XFRM_POLICY_IN};

	netlink_begin(netlink, XFRM_MSG_DELPOLICY, 0, &id, sizeof(id));
	put_context(netlink, context);
}

static int set_family(struct netlink *netlink, int family, bool in_peer, const char *context,
		      const char *policy)
{
	const struct ipsec_way out = {.family = family, .from_peer = in_peer};
	const struct ipsec_way in = {.family = family, .from_peer = !in_peer};

	ipsec_association(netlink, out, context);
	ipsec_association(netlink, in, context);
	ipsec_policy(netlink, out, true, policy);
	ipsec_policy(netlink, in, false, policy);
	return netlink_send(netlink);
}

int ipsec_set(bool in_peer, const char *context, const char *policy)
{
	struct netlink netlink;
	int error = netlink_open(&netlink, NETLINK_XFRM);

	if (error)
		return error;
	error = set_family(&netlink, AF_INET, in_peer, context, policy);
	if (!error)
		error = set_family(&netlink, AF_INET6, in_peer, context, policy);
	sys_close(netlink.fd);
	return error;
}

uint64_t ipsec_packets(bool in_peer)
{
	const struct ipsec_way way = {.family = AF_INET, .from_peer = in_peer};
	struct xfrm_usersa_id id = {.spi = spi(way), .family = AF_INET, .proto = IPPROTO_ESP};
	struct xfrm_usersa_info info;
	struct netlink netlink;
	long n = netlink_open(&netlink, NETLINK_XFRM);

	if (n)
		return 0;
	put_address(&id.daddr, AF_INET, !in_peer);
	netlink_begin(&netlink, XFRM_MSG_GETSA, 0, &id, sizeof(id));
	n = netlink_ask(&netlink);
	sys_close(netlink.fd);
	if (n < (long)(NLMSG_HDRLEN + sizeof(info)))
		return 0;
	memcpy(&info, netlink.data + NLMSG_HDRLEN, sizeof(info));
	return info.curlft.packets;
}
