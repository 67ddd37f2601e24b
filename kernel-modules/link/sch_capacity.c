// SPDX-License-Identifier: GPL-2.0-only
/*
 * A link whose capacity changes: packets leave the queue inside when the link has carried them.
 *
 * Either each step has a rate, and a packet takes the time in which its octets pass, over as many
 * steps as that needs. Or each step gives octets at its begin, as the packet opportunities of
 * Mahimahi's mm-link do (Netravali et al. 2015). Packets that wait share them in order, and one
 * packet may need several. What nobody waits for is lost.
 *
 * tc's tbf cannot: each change of its rate fills its bucket with a packet.
 */

#include <linux/module.h>
#include "steps.h"

struct capacity {
	struct steps	steps;
	struct Qdisc	*inner;
	struct qdisc_watchdog watchdog;
	s32		lengthened;
	u64		free_ns;	/* when the link has carried what it took so far */
	u64		due_ns;		/* when the head has been carried, 0 if not known yet */
	u32		used;		/* of the octets that this step gave at once */
};

/* When the octets that begin at free_ns have passed at the steps' rates. */
static u64 passed_ns(struct capacity *q, u32 octets)
{
	struct steps *s = &q->steps;
	u64 left = (u64)octets * NSEC_PER_SEC, t_ns = q->free_ns;

	if (!s->gives)
		return NEVER;
	steps_seek(s, t_ns);
	for (;;) {
		u64 end_ns = steps_end_ns(s), rate = steps_now(s)->amount;
		u64 need_ns = rate ? div64_u64(left + rate - 1, rate) : NEVER;

		if (end_ns == NEVER || need_ns <= end_ns - t_ns)
			return need_ns == NEVER ? NEVER : t_ns + need_ns;
		left -= rate * (end_ns - t_ns);
		t_ns = end_ns;
		steps_next(s);
	}
}

/* When the steps from free_ns on have given the octets. */
static u64 given_ns(struct capacity *q, u32 octets)
{
	struct steps *s = &q->steps;

	if (!s->gives)
		return NEVER;
	if (steps_seek(s, q->free_ns))
		q->used = 0;
	for (;;) {
		u32 left = 0;

		if (s->start_ns >= q->free_ns)
			left = steps_now(s)->amount - q->used;
		if (octets <= left) {
			q->used += octets;
			return s->start_ns;
		}
		octets -= left;
		if (steps_end_ns(s) == NEVER) {
			q->used = steps_now(s)->amount;
			return NEVER;
		}
		steps_next(s);
		q->used = 0;
	}
}

static u64 carried_ns(struct capacity *q, const struct sk_buff *skb)
{
	s64 octets = (s64)qdisc_pkt_len(skb) + q->lengthened;

	octets = clamp_t(s64, octets, 1, U32_MAX);
	/* What is sent before the trace begins is not held back. */
	if (!q->steps.begun || q->free_ns < q->steps.begin_ns)
		return q->free_ns;
	return q->steps.flags & STEPS_AT_ONCE ? given_ns(q, octets) : passed_ns(q, octets);
}

static int capacity_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct capacity *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret;

	if (!sch->q.qlen)
		q->free_ns = max(q->free_ns, ktime_get_ns());
	ret = qdisc_enqueue(skb, q->inner, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *capacity_dequeue(struct Qdisc *sch)
{
	struct capacity *q = qdisc_priv(sch);
	struct sk_buff *skb = q->inner->ops->peek(q->inner);

	if (!skb)
		return NULL;
	if (!q->due_ns)
		q->due_ns = carried_ns(q, skb);
	if (q->due_ns > ktime_get_ns()) {
		if (q->due_ns != NEVER)
			qdisc_watchdog_schedule_ns(&q->watchdog, q->due_ns);
		qdisc_qstats_overlimit(sch);
		return NULL;
	}
	skb = qdisc_dequeue_peeked(q->inner);
	if (!skb)
		return NULL;
	q->free_ns = q->due_ns;
	q->due_ns = 0;
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void capacity_reset(struct Qdisc *sch)
{
	struct capacity *q = qdisc_priv(sch);

	qdisc_reset(q->inner);
	q->due_ns = 0;
	qdisc_watchdog_cancel(&q->watchdog);
}

static int capacity_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct capacity *q = qdisc_priv(sch);
	struct nlattr *tb[STEPS_MAX + 1];
	int err;

	if (!opt)
		return -EINVAL;
	err = nla_parse_nested(tb, STEPS_MAX, opt, steps_policy, extack);
	if (err)
		return err;
	if (tb[STEPS_LENGTHENED])
		q->lengthened = nla_get_s32(tb[STEPS_LENGTHENED]);
	return steps_change(sch, &q->steps, tb, extack);
}

static int capacity_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct capacity *q = qdisc_priv(sch);

	steps_init(&q->steps);
	qdisc_watchdog_init(&q->watchdog, sch);
	q->inner = &noop_qdisc;
	return capacity_change(sch, opt, extack);
}

static void capacity_destroy(struct Qdisc *sch)
{
	struct capacity *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->inner);
	steps_free(&q->steps);
}

static int capacity_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct capacity *q = qdisc_priv(sch);

	return steps_dump(&q->steps, skb);
}

static int capacity_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			       struct tcmsg *tcm)
{
	struct capacity *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->inner->handle;
	return 0;
}

static int capacity_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			  struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct capacity *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->inner);
	q->due_ns = 0;
	return 0;
}

static struct Qdisc *capacity_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct capacity *q = qdisc_priv(sch);

	return q->inner;
}

static unsigned long capacity_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void capacity_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops capacity_class_ops = {
	.graft		= capacity_graft,
	.leaf		= capacity_leaf,
	.find		= capacity_find,
	.walk		= capacity_walk,
	.dump		= capacity_dump_class,
};

static struct Qdisc_ops capacity_ops __read_mostly = {
	.cl_ops		= &capacity_class_ops,
	.id		= "capacity",
	.priv_size	= sizeof(struct capacity),
	.enqueue	= capacity_enqueue,
	.dequeue	= capacity_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= capacity_init,
	.reset		= capacity_reset,
	.destroy	= capacity_destroy,
	.change		= capacity_change,
	.dump		= capacity_dump,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("capacity");

static int __init capacity_register(void)
{
	return register_qdisc(&capacity_ops);
}

static void __exit capacity_unregister(void)
{
	unregister_qdisc(&capacity_ops);
}

module_init(capacity_register);
module_exit(capacity_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A link whose capacity changes over time");
