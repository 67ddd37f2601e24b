// SPDX-License-Identifier: GPL-2.0-only
/* The generic netlink family of elfn_netlink.h. */

#include <linux/capability.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include "icmp.h"
#include "netlink.h"
#include "notice.h"

#define ELFN_PROBE_MS 2000
#define ELFN_PROBE_MS_LEAST 10
#define ELFN_PROBE_MS_MOST 30000
#define ELFN_GIVE_UP_MS 300000

static struct genl_family elfn_family;

static const struct genl_multicast_group elfn_groups[] = {
	{ .name = ELFN_GROUP },
};

/* Records, or destinations, in one notice: more than any Route Error of DSR holds. */
#define ELFN_NOTICES 64

static const struct nla_policy elfn_policy[ELFN_A_MAX + 1] = {
	[ELFN_A_ENABLED]	= NLA_POLICY_MAX(NLA_U8, 1),
	[ELFN_A_PROBE_MS]	= NLA_POLICY_RANGE(NLA_U32, ELFN_PROBE_MS_LEAST, ELFN_PROBE_MS_MOST),
	[ELFN_A_GIVE_UP_MS]	= { .type = NLA_U32 },
	[ELFN_A_RESUME]		= NLA_POLICY_MAX(NLA_U8, ELFN_RESUME_DEFAULT_TIMER),
	[ELFN_A_FIRST_PROBE]	= NLA_POLICY_MAX(NLA_U8, ELFN_FIRST_PROBE_INTERVAL),
	[ELFN_A_LOCAL_PORT]	= { .type = NLA_U16 },
	[ELFN_A_RECORDS]	= { .type = NLA_BINARY,
				    .len = ELFN_NOTICES * sizeof(struct elfn_record) },
	[ELFN_A_UNREACHABLE]	= { .type = NLA_BINARY, .len = ELFN_NOTICES * sizeof(__be32) },
};

static int elfn_put_connection(struct sk_buff *skb, const struct elfn_connection *c)
{
	u64 standby_ns = READ_ONCE(c->standby_ns);
	u8 standing_by = c->sk ? 1 : 0;

	if (standing_by)
		standby_ns += ktime_get_ns() - c->since_ns;
	if (nla_put(skb, ELFN_A_TUPLE, sizeof(c->tuple), &c->tuple) ||
	    nla_put_u8(skb, ELFN_A_STANDBY, standing_by) ||
	    nla_put_u32(skb, ELFN_A_STANDBYS, c->standbys) ||
	    nla_put_u64_64bit(skb, ELFN_A_STANDBY_NS, standby_ns, ELFN_A_PAD) ||
	    nla_put_u32(skb, ELFN_A_PROBES, c->probes) ||
	    nla_put_u32(skb, ELFN_A_NOTICES, c->notices) ||
	    nla_put_u32(skb, ELFN_A_EARLY_ACKS, c->early_acks) ||
	    nla_put_u32(skb, ELFN_A_RESENT, c->resent) ||
	    nla_put_string(skb, ELFN_A_REASON, c->reason) ||
	    nla_put_u32(skb, ELFN_A_CWND, c->kept.cwnd) ||
	    nla_put_u32(skb, ELFN_A_SSTHRESH, c->kept.ssthresh) ||
	    nla_put_u32(skb, ELFN_A_RTO_US, jiffies_to_usecs(c->kept.rto)))
		return -EMSGSIZE;
	return 0;
}

/* To all who listen in the namespace; under the socket's lock. */
void elfn_tell(const struct elfn_connection *c, const char *kind, u32 sequence)
{
	struct net *net = c->en->net;
	struct sk_buff *skb;
	void *header;

	if (!genl_has_listeners(&elfn_family, net, 0))
		return;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &elfn_family, 0, ELFN_CMD_EVENT);
	if (!header || nla_put_string(skb, ELFN_A_KIND, kind) ||
	    nla_put_u64_64bit(skb, ELFN_A_TIME_NS, ktime_get_real_ns(), ELFN_A_PAD) ||
	    nla_put_u32(skb, ELFN_A_SEQ, sequence) || elfn_put_connection(skb, c)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&elfn_family, net, skb, 0, 0, GFP_KERNEL);
}

static void elfn_read_settings(struct elfn_settings *s, struct nlattr **attrs)
{
	*s = (struct elfn_settings) {
		.enabled	= !attrs[ELFN_A_ENABLED] || nla_get_u8(attrs[ELFN_A_ENABLED]),
		.probe_ms	= ELFN_PROBE_MS,
		.give_up_ms	= ELFN_GIVE_UP_MS,
	};
	if (attrs[ELFN_A_PROBE_MS])
		s->probe_ms = nla_get_u32(attrs[ELFN_A_PROBE_MS]);
	if (attrs[ELFN_A_GIVE_UP_MS])
		s->give_up_ms = nla_get_u32(attrs[ELFN_A_GIVE_UP_MS]);
	if (attrs[ELFN_A_RESUME])
		s->resume = nla_get_u8(attrs[ELFN_A_RESUME]);
	if (attrs[ELFN_A_FIRST_PROBE])
		s->first_probe = nla_get_u8(attrs[ELFN_A_FIRST_PROBE]);
}

/* In place: the hook for ICMP reads without the mutex. Under the mutex. */
static int elfn_store(struct elfn_net *en, const struct nlattr *port, const struct elfn_settings *s)
{
	struct elfn_settings *to = &en->settings;
	int err;

	if (port) {
		to = xa_load(&en->ports, nla_get_u16(port));
		if (!to) {
			to = kzalloc(sizeof(*to), GFP_KERNEL);
			if (!to)
				return -ENOMEM;
			err = xa_err(xa_store(&en->ports, nla_get_u16(port), to, GFP_KERNEL));
			if (err) {
				kfree(to);
				return err;
			}
		}
	}
	*to = *s;
	return 0;
}

static int elfn_set(struct sk_buff *skb, struct genl_info *info)
{
	struct elfn_net *en = elfn_net(genl_info_net(info));
	struct elfn_settings settings, *own;
	unsigned long port;
	bool needed;
	int err;

	elfn_read_settings(&settings, info->attrs);
	mutex_lock(&en->mutex);
	err = elfn_store(en, info->attrs[ELFN_A_LOCAL_PORT], &settings);
	needed = en->settings.enabled;
	xa_for_each(&en->ports, port, own)
		needed |= own->enabled;
	if (!err)
		err = elfn_hook(en, needed);
	mutex_unlock(&en->mutex);
	if (!err)
		elfn_end_switched_off(en);
	return err;
}

/*
 * A daemon that has dropped its privileges goes on using the socket that it opened before. A
 * program that can only be talked into writing to somebody's socket can do no more than that
 * somebody.
 */
static bool elfn_may_notify(const struct sk_buff *skb)
{
	const struct sock *sk = NETLINK_CB(skb).sk;
	const struct socket *socket = sk ? sk->sk_socket : NULL;

	return socket && socket->file &&
	       file_ns_capable(socket->file, sock_net(sk)->user_ns, CAP_NET_ADMIN);
}

/* The next record that names a TCP segment; types that are not known are skipped by their length. */
static const struct elfn_record *elfn_next_record(const u8 **at, int *left)
{
	while (*left >= 2) {
		const struct elfn_record *r = (const void *)*at;
		int length = 2 + r->length;

		if (length > *left)
			break;
		*at += length;
		*left -= length;
		if (r->type == ELFN_RECORD_TYPE && r->length >= ELFN_RECORD_DATA &&
		    r->protocol == IPPROTO_TCP)
			return r;
	}
	return NULL;
}

static int elfn_records(struct elfn_net *en, const struct nlattr *records)
{
	const struct elfn_record *r;
	struct elfn_notice *list;
	unsigned int count = 0, i;
	const u8 *at;
	int left;

	list = kcalloc(ELFN_NOTICES, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	at = nla_data(records);
	left = nla_len(records);
	while (count < ELFN_NOTICES && (r = elfn_next_record(&at, &left)))
		list[count++] = (struct elfn_notice) {
			.tuple.local		= get_unaligned(&r->source),
			.tuple.remote		= get_unaligned(&r->destination),
			.tuple.local_port	= get_unaligned(&r->source_port),
			.tuple.remote_port	= get_unaligned(&r->destination_port),
			.sequence		= get_unaligned_be32(&r->sequence),
			.fate			= r->fate,
		};
	if (!count)
		elfn_count(en, ELFN_COUNT_MALFORMED);
	for (i = 0; i < count; i++)
		elfn_notice(en, &list[i]);
	kfree(list);
	return 0;
}

static int elfn_notice_command(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *unreachable = info->attrs[ELFN_A_UNREACHABLE];
	const struct nlattr *records = info->attrs[ELFN_A_RECORDS];
	struct elfn_net *en = elfn_net(genl_info_net(info));
	int at;

	if (!elfn_may_notify(skb))
		return -EPERM;
	if (!records && !unreachable)
		return -EINVAL;
	if (unreachable)
		for (at = 0; at + (int)sizeof(__be32) <= nla_len(unreachable); at += sizeof(__be32))
			elfn_unreachable(en, get_unaligned((const __be32 *)(nla_data(unreachable) + at)));
	return records ? elfn_records(en, records) : 0;
}

static int elfn_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct elfn_net *en = elfn_net(sock_net(skb->sk));
	struct elfn_connection *c;
	long at = 0;
	void *header;

	mutex_lock(&en->mutex);
	list_for_each_entry(c, &en->connections, list) {
		if (at++ < cb->args[0])
			continue;
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				     &elfn_family, NLM_F_MULTI, ELFN_CMD_GET);
		if (!header)
			break;
		if (elfn_put_connection(skb, c)) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		cb->args[0] = at;
	}
	mutex_unlock(&en->mutex);
	return skb->len;
}

static int elfn_counters(struct sk_buff *request, struct genl_info *info)
{
	struct elfn_net *en = elfn_net(genl_info_net(info));
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;
	int i;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &elfn_family, 0, ELFN_CMD_COUNTERS);
	if (!header)
		goto full;
	for (i = 0; i < ELFN_COUNTS; i++)
		if (nla_put_u64_64bit(skb, ELFN_A_COUNTER, atomic64_read(&en->counts[i]), ELFN_A_PAD))
			goto full;
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);

full:
	nlmsg_free(skb);
	return -EMSGSIZE;
}

static const struct genl_ops elfn_ops[] = {
	{
		.cmd	= ELFN_CMD_SET,
		.doit	= elfn_set,
		.flags	= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd	= ELFN_CMD_NOTICE,
		.doit	= elfn_notice_command,
	},
	{
		.cmd	= ELFN_CMD_GET,
		.dumpit	= elfn_dump,
	},
	{
		.cmd	= ELFN_CMD_COUNTERS,
		.doit	= elfn_counters,
	},
};

static struct genl_family elfn_family __ro_after_init = {
	.name		= ELFN_FAMILY,
	.version	= 1,
	.maxattr	= ELFN_A_MAX,
	.policy		= elfn_policy,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= elfn_ops,
	.n_ops		= ARRAY_SIZE(elfn_ops),
	.mcgrps		= elfn_groups,
	.n_mcgrps	= ARRAY_SIZE(elfn_groups),
};

int elfn_netlink_register(void)
{
	return genl_register_family(&elfn_family);
}

void elfn_netlink_unregister(void)
{
	genl_unregister_family(&elfn_family);
}
