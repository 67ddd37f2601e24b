// SPDX-License-Identifier: GPL-2.0-only
/*
 * A link whose delay and losses change: each packet is delayed by what holds when it comes, or
 * lost. Packets stay in order, as on one path: where the delay falls, they wait for those before
 * them.
 */

#include <linux/module.h>
#include <linux/prandom.h>
#include "steps.h"

struct latency {
	struct steps	steps;
	struct qdisc_watchdog watchdog;
	struct rnd_state draws;
	u64		last_ns;	/* when the last packet leaves */
};

struct latency_cb {
	u64	leaves_ns;
};

static struct latency_cb *latency_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct latency_cb));
	return (struct latency_cb *)qdisc_skb_cb(skb)->data;
}

static int latency_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct latency *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns(), leaves_ns = now_ns;

	if (q->steps.begun) {
		const struct step *step;

		steps_seek(&q->steps, now_ns);
		step = steps_now(&q->steps);
		if (step->loss && prandom_u32_state(&q->draws) < step->loss) {
			qdisc_qstats_drop(sch);
			__qdisc_drop(skb, to_free);
			return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
		}
		leaves_ns += (u64)step->amount * NSEC_PER_USEC;
	}
	if (unlikely(sch->q.qlen >= sch->limit))
		return qdisc_drop(skb, sch, to_free);
	q->last_ns = max(q->last_ns, leaves_ns);
	latency_cb(skb)->leaves_ns = q->last_ns;
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *latency_dequeue(struct Qdisc *sch)
{
	struct latency *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_peek_head(sch);

	if (!skb)
		return NULL;
	if (latency_cb(skb)->leaves_ns > ktime_get_ns()) {
		qdisc_watchdog_schedule_ns(&q->watchdog, latency_cb(skb)->leaves_ns);
		return NULL;
	}
	return qdisc_dequeue_head(sch);
}

static void latency_reset(struct Qdisc *sch)
{
	struct latency *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
}

static int latency_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct latency *q = qdisc_priv(sch);
	struct nlattr *tb[STEPS_MAX + 1];
	int err;

	if (!opt)
		return -EINVAL;
	err = nla_parse_nested(tb, STEPS_MAX, opt, steps_policy, extack);
	if (err)
		return err;
	if (tb[STEPS_SEED])
		prandom_seed_state(&q->draws, nla_get_u64(tb[STEPS_SEED]));
	return steps_change(sch, &q->steps, tb, extack);
}

static int latency_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct latency *q = qdisc_priv(sch);

	sch->limit = 100000;
	steps_init(&q->steps);
	qdisc_watchdog_init(&q->watchdog, sch);
	prandom_seed_state(&q->draws, 0);
	return latency_change(sch, opt, extack);
}

static void latency_destroy(struct Qdisc *sch)
{
	struct latency *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	steps_free(&q->steps);
}

static int latency_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct latency *q = qdisc_priv(sch);

	return steps_dump(&q->steps, skb);
}

static struct Qdisc_ops latency_ops __read_mostly = {
	.id		= "latency",
	.priv_size	= sizeof(struct latency),
	.enqueue	= latency_enqueue,
	.dequeue	= latency_dequeue,
	.peek		= qdisc_peek_head,
	.init		= latency_init,
	.reset		= latency_reset,
	.destroy	= latency_destroy,
	.change		= latency_change,
	.dump		= latency_dump,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("latency");

static int __init latency_register(void)
{
	return register_qdisc(&latency_ops);
}

static void __exit latency_unregister(void)
{
	unregister_qdisc(&latency_ops);
}

module_init(latency_register);
module_exit(latency_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A link whose delay and losses change over time");
