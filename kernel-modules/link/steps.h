/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of a link over time, as steps that follow each other: the rows of a trace.
 *
 * They come in pieces of a netlink message each, then the time at which the first one begins. After
 * that they only move on.
 */
#ifndef HOPLAB_LINK_STEPS_H
#define HOPLAB_LINK_STEPS_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#define STEPS_MOST	(1U << 24)
#define NEVER		U64_MAX

enum {
	STEPS_UNSPEC,
	STEPS_FLAGS,		/* u32, before all others */
	STEPS_LENGTHENED,	/* s32: octets that a packet takes beyond its own */
	STEPS_SEED,		/* u64 */
	STEPS_PIECE,		/* struct step, again and again */
	STEPS_BEGIN,		/* u64: ns of the monotonic clock */
	__STEPS_MAX,
};
#define STEPS_MAX (__STEPS_MAX - 1)

#define STEPS_REPEATED	BIT(0)
#define STEPS_AT_ONCE	BIT(1)	/* a step's octets are there at its begin, and no rate */

struct step {
	u32	length_us;
	u32	amount;		/* octets (per s, or at once); or the delay in us */
	u32	loss;		/* of 2^32 */
};

struct steps_piece {
	struct list_head list;
	u32		count;
	struct step	step[];
};

struct steps {
	struct list_head pieces;
	struct steps_piece *piece;	/* where it stands */
	u32		index;
	u32		flags;
	u32		total;
	u64		begin_ns;	/* of the first one */
	u64		start_ns;	/* of the step where it stands */
	u64		cycle_ns;
	bool		gives;		/* some step has an amount */
	bool		begun;
};

static const struct nla_policy steps_policy[STEPS_MAX + 1] = {
	[STEPS_FLAGS]		= { .type = NLA_U32 },
	[STEPS_LENGTHENED]	= { .type = NLA_S32 },
	[STEPS_SEED]		= { .type = NLA_U64 },
	[STEPS_PIECE]		= { .type = NLA_BINARY },
	[STEPS_BEGIN]		= { .type = NLA_U64 },
};

static inline void steps_init(struct steps *s)
{
	INIT_LIST_HEAD(&s->pieces);
}

static inline void steps_free(struct steps *s)
{
	struct steps_piece *piece, *next;

	/* Without init, the list has no head yet. */
	if (!s->pieces.next)
		return;
	list_for_each_entry_safe(piece, next, &s->pieces, list) {
		list_del(&piece->list);
		kvfree(piece);
	}
}

static inline const struct step *steps_now(const struct steps *s)
{
	return &s->piece->step[s->index];
}

static inline bool steps_is_last(const struct steps *s)
{
	return s->index + 1 == s->piece->count && list_is_last(&s->piece->list, &s->pieces);
}

/* When the step ends. The last one stays, unless they are repeated. */
static inline u64 steps_end_ns(const struct steps *s)
{
	if (steps_is_last(s) && !(s->flags & STEPS_REPEATED))
		return NEVER;
	return s->start_ns + (u64)steps_now(s)->length_us * NSEC_PER_USEC;
}

/* To the next step. Not from the last one, unless they are repeated. */
static inline void steps_next(struct steps *s)
{
	s->start_ns = steps_end_ns(s);
	if (++s->index < s->piece->count)
		return;
	s->index = 0;
	if (list_is_last(&s->piece->list, &s->pieces))
		s->piece = list_first_entry(&s->pieces, struct steps_piece, list);
	else
		s->piece = list_next_entry(s->piece, list);
}

/* To the step of a time; of several without length, to the first. True if it was another one. */
static inline bool steps_seek(struct steps *s, u64 t_ns)
{
	bool moved = false;

	/* Whole rounds change nothing but the time. */
	if ((s->flags & STEPS_REPEATED) && t_ns > s->start_ns + s->cycle_ns) {
		s->start_ns += div64_u64(t_ns - s->start_ns - 1, s->cycle_ns) * s->cycle_ns;
		moved = true;
	}
	while (steps_end_ns(s) <= t_ns && (steps_end_ns(s) < t_ns || steps_now(s)->length_us)) {
		steps_next(s);
		moved = true;
	}
	return moved;
}

/* Take a piece, under the lock of the qdisc's tree. */
static inline int steps_append(struct Qdisc *sch, struct steps *s, const struct nlattr *attr,
			       struct netlink_ext_ack *extack)
{
	u32 count = nla_len(attr) / sizeof(struct step), i;
	struct steps_piece *piece;

	if (!count || nla_len(attr) % sizeof(struct step) || s->begun ||
	    count > STEPS_MOST - s->total) {
		NL_SET_ERR_MSG(extack, "steps: not whole, too many, or after their begin");
		return -EINVAL;
	}
	piece = kvmalloc(struct_size(piece, step, count), GFP_KERNEL);
	if (!piece)
		return -ENOMEM;
	piece->count = count;
	memcpy(piece->step, nla_data(attr), nla_len(attr));
	sch_tree_lock(sch);
	for (i = 0; i < count; i++) {
		s->cycle_ns += (u64)piece->step[i].length_us * NSEC_PER_USEC;
		s->gives |= piece->step[i].amount;
	}
	s->total += count;
	list_add_tail(&piece->list, &s->pieces);
	sch_tree_unlock(sch);
	return 0;
}

static inline int steps_begin(struct Qdisc *sch, struct steps *s, const struct nlattr *attr,
			      struct netlink_ext_ack *extack)
{
	if (list_empty(&s->pieces) || s->begun || !s->cycle_ns) {
		NL_SET_ERR_MSG(extack, "steps: none, without length, or begun already");
		return -EINVAL;
	}
	sch_tree_lock(sch);
	s->piece = list_first_entry(&s->pieces, struct steps_piece, list);
	s->index = 0;
	s->begin_ns = s->start_ns = nla_get_u64(attr);
	s->begun = true;
	sch_tree_unlock(sch);
	return 0;
}

/* What both disciplines take beside their own. */
static inline int steps_change(struct Qdisc *sch, struct steps *s, struct nlattr **tb,
			       struct netlink_ext_ack *extack)
{
	int err = 0;

	if (tb[STEPS_FLAGS])
		s->flags = nla_get_u32(tb[STEPS_FLAGS]);
	if (tb[STEPS_PIECE])
		err = steps_append(sch, s, tb[STEPS_PIECE], extack);
	if (!err && tb[STEPS_BEGIN])
		err = steps_begin(sch, s, tb[STEPS_BEGIN], extack);
	return err;
}

static inline int steps_dump(const struct steps *s, struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, STEPS_FLAGS, s->flags)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

#endif
