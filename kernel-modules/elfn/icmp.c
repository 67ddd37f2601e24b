// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices as ICMP: destination unreachable, host unreachable (RFC 792, RFC 1812 section 5.2.7.1),
 * from any router, with the segment's first octets. The module sees the message before the kernel
 * does. It takes away one that names a segment in flight, since the kernel would react to it in its
 * own way (RFC 6069). Every other one goes on to the kernel, which judges for itself.
 */

#include <linux/icmp.h>
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <net/ip.h>
#include "icmp.h"
#include "notice.h"

/* RFC 792: eight octets of what follows the quoted IP header, for TCP ports and sequence number. */
struct elfn_quoted {
	__be16	source_port;
	__be16	destination_port;
	__be32	sequence;
};

/* Whether `skb` quotes a TCP segment that a host could not be reached with; then says which. */
static bool elfn_parse(struct sk_buff *skb, const struct nf_hook_state *state,
		       struct elfn_notice *notice)
{
	const unsigned int at = ip_hdrlen(skb);
	struct elfn_quoted quoted_buf;
	struct icmphdr icmp_buf;
	struct iphdr ip_buf;
	const struct elfn_quoted *quoted;
	const struct icmphdr *icmp;
	const struct iphdr *ip;

	if (ip_hdr(skb)->protocol != IPPROTO_ICMP || ip_is_fragment(ip_hdr(skb)))
		return false;
	icmp = skb_header_pointer(skb, at, sizeof(icmp_buf), &icmp_buf);
	if (!icmp || icmp->type != ICMP_DEST_UNREACH || icmp->code != ICMP_HOST_UNREACH)
		return false;
	ip = skb_header_pointer(skb, at + sizeof(icmp_buf), sizeof(ip_buf), &ip_buf);
	if (!ip || ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_TCP ||
	    ip->frag_off & htons(IP_OFFSET))
		return false;
	notice->tuple.local = ip->saddr;
	notice->tuple.remote = ip->daddr;
	quoted = skb_header_pointer(skb, at + sizeof(icmp_buf) + ip->ihl * 4, sizeof(quoted_buf),
				    &quoted_buf);
	if (!quoted)
		return false;
	notice->tuple.local_port = quoted->source_port;
	notice->tuple.remote_port = quoted->destination_port;
	notice->sequence = ntohl(quoted->sequence);
	notice->fate = ELFN_FATE_DROPPED;
	notice->of_route = false;
	notice->ifindex = state->in ? state->in->ifindex : 0;
	return !nf_ip_checksum(skb, state->hook, at, IPPROTO_ICMP);
}

static unsigned int elfn_icmp(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct elfn_net *en = elfn_net(state->net);
	struct elfn_notice notice;
	struct sock *sk;
	bool in_flight;

	if (!elfn_parse(skb, state, &notice))
		return NF_ACCEPT;
	if (!READ_ONCE(elfn_settings(en, notice.tuple.local_port)->enabled)) {
		elfn_count(en, ELFN_COUNT_SWITCHED_OFF);
		return NF_ACCEPT;
	}
	sk = elfn_socket(en, &notice);
	if (!sk) {
		elfn_count(en, ELFN_COUNT_NO_CONNECTION);
		return NF_ACCEPT;
	}
	/* Looked at without the lock, as the kernel does for its own; decided with it, later. */
	in_flight = elfn_in_flight(sk, notice.sequence);
	sock_put(sk);
	if (!in_flight) {
		elfn_count(en, ELFN_COUNT_NOT_IN_FLIGHT);
		return NF_ACCEPT;
	}
	if (!elfn_defer(en, &notice)) {
		elfn_count(en, ELFN_COUNT_OVERLOAD);
		return NF_ACCEPT;
	}
	return NF_DROP;
}

static const struct nf_hook_ops elfn_icmp_hook = {
	.hook		= elfn_icmp,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_IN,
	.priority	= NF_IP_PRI_LAST,
};

int elfn_hook(struct elfn_net *en, bool on)
{
	int err = 0;

	if (on == en->hooked)
		return 0;
	if (on)
		err = nf_register_net_hook(en->net, &elfn_icmp_hook);
	else
		nf_unregister_net_hook(en->net, &elfn_icmp_hook);
	if (!err)
		en->hooked = on;
	return err;
}
