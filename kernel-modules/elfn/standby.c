// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stand-by.
 *
 * While it lasts, a copy of the socket's congestion control stands in its place. The copy has the
 * same name and flags, but its hooks do nothing. So whatever the kernel concludes, the algorithm's
 * own state stays as it was. The kernel calls .cong_control with the socket locked, after it has
 * processed an acknowledgement and before it sends anything. There the module sees acknowledgements
 * and holds the connection:
 *
 *     nothing new   cwnd is what is in flight
 *     no timer      icsk_retransmit_timer is stopped, again after each acknowledgement, which sets it
 *     no recovery   the state is Loss, in which duplicates start nothing, and nothing is marked lost
 *
 * All else happens in process context, in one work item a connection. The item takes the socket's
 * lock as a system call does. So no case in which the user holds the socket needs care of its own,
 * and softirqs only wake the item. The kernel's transmit functions are not exported. But
 * release_sock() runs tcp_tsq_write() for a socket whose TCP_TSQ_DEFERRED is set. That sends what
 * is marked lost, as far as cwnd allows, on the ordinary way. A probe marks the first segment lost
 * and makes room for one. A resumption marks all lost that the break swallowed, and restores the
 * kept window. The kernel itself does not send a segment twice whose last copy still waits in a
 * queue of this host (skb_still_in_host_queue()). It cuts off parts that were acknowledged, and
 * probes a zero window with the same segment.
 *
 * After the resumption the state is Loss until everything sent before is acknowledged, as
 * tcp_simple_retransmit() has it for path MTU changes. No window is reduced, and none can be
 * undone.
 */

#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>
#include "standby.h"

/* Connections remembered for the dump in a namespace; those in stand-by are never forgotten. */
#define ELFN_REMEMBERED 1024
/* Try again this soon when a probe could not leave because its segment still waits here. */
#define ELFN_BUSY_JIFFIES max(HZ / 10, 1)

static void elfn_held_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
}

static void elfn_held_set_state(struct sock *sk, u8 state)
{
}

static void elfn_held_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
}

static struct elfn_connection *elfn_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct elfn_connection, ops);
}

static u32 elfn_held_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 elfn_held_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* F-RTO (RFC 5682) would send new data. */
static void elfn_held_in_ack_event(struct sock *sk, u32 flags)
{
	tcp_sk(sk)->frto = 0;
}

static void elfn_stop_timer(struct sock *sk)
{
	inet_csk_clear_xmit_timer(sk, ICSK_TIME_RETRANS);
}

/* Nothing counts as lost or as sent again, so all that is not acknowledged is in flight. */
static void elfn_clear_marks(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sk_buff *skb = tcp_rtx_queue_head(sk);

	skb_rbtree_walk_from(skb)
		TCP_SKB_CB(skb)->sacked &= ~(TCPCB_LOST | TCPCB_SACKED_RETRANS);
	tp->lost_out = 0;
	tp->retrans_out = 0;
	tcp_clear_all_retrans_hints(tp);
}

static void elfn_mark_lost(struct sock *sk, struct sk_buff *skb)
{
	TCP_SKB_CB(skb)->sacked |= TCPCB_LOST;
	tcp_sk(sk)->lost_out += tcp_skb_pcount(skb);
}

static void elfn_hold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	elfn_stop_timer(sk);
	elfn_clear_marks(sk);
	tcp_snd_cwnd_set(tp, max(tcp_packets_in_flight(tp), 1U));
	/* Not by tcp_set_ca_state(): the algorithm is not to know. */
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tp->high_seq = tp->snd_nxt;
	tp->undo_marker = 0;
	tp->undo_retrans = -1;
	tp->prior_ssthresh = 0;
	tp->tlp_high_seq = 0;
	tp->frto = 0;
}

/*
 * An acknowledgement. One that was on its way when the route broke says nothing about the route. It
 * comes before the first probe and covers nothing that a notice named. Any other is an answer.
 */
static void elfn_acknowledged(struct sock *sk)
{
	struct elfn_connection *c = elfn_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (c->probed || after(tp->snd_una, c->named) || !tp->packets_out) {
		c->answered = true;
		mod_delayed_work(elfn_queue, &c->work, 0);
	} else {
		c->early_acks++;
	}
	elfn_hold(sk);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void elfn_held_cong_control(struct sock *sk, u32 ack, int flag,
				   const struct rate_sample *rs)
#else
static void elfn_held_cong_control(struct sock *sk, const struct rate_sample *rs)
#endif
{
	elfn_acknowledged(sk);
}

/* The record of a socket in stand-by; under the socket's lock. */
struct elfn_connection *elfn_standing_by(const struct sock *sk)
{
	if (inet_csk(sk)->icsk_ca_ops->cong_control != elfn_held_cong_control)
		return NULL;
	return elfn_of(sk);
}

/*
 * The socket closes or changes its algorithm. The kernel goes on to give back the module of
 * icsk_ca_ops, which is the algorithm's own again.
 */
static void elfn_held_release(struct sock *sk)
{
	struct elfn_connection *c = elfn_of(sk);

	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, c->own);
	if (c->own->release)
		c->own->release(sk);
	c->released = true;
	mod_delayed_work(elfn_queue, &c->work, 0);
}

static void elfn_replace_algorithm(struct elfn_connection *c, struct sock *sk)
{
	c->own = inet_csk(sk)->icsk_ca_ops;
	c->ops = *c->own;
	c->ops.ssthresh = elfn_held_ssthresh;
	c->ops.cong_avoid = elfn_held_cong_avoid;
	c->ops.set_state = elfn_held_set_state;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
	c->ops.cwnd_event_tx_start = NULL;
#endif
	c->ops.cwnd_event = elfn_held_cwnd_event;
	c->ops.in_ack_event = elfn_held_in_ack_event;
	c->ops.pkts_acked = NULL;
	c->ops.cong_control = elfn_held_cong_control;
	c->ops.undo_cwnd = elfn_held_undo_cwnd;
	c->ops.release = elfn_held_release;
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &c->ops);
}

/*
 * A reduction that was going on is taken as done: it answered what came before the notice. The
 * window that it would have ended with is ssthresh.
 */
static void elfn_keep(struct elfn_kept *kept, const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	kept->cwnd = tcp_in_cwnd_reduction(sk) ? tp->snd_ssthresh : tcp_snd_cwnd(tp);
	kept->cwnd_cnt = tp->snd_cwnd_cnt;
	kept->ssthresh = tp->snd_ssthresh;
	kept->prior_cwnd = tp->prior_cwnd;
	/*
	 * Less than a new connection's comes of a duplicate alone: a copy of an earlier probe that a
	 * station held (tcp_check_reno_reordering()).
	 */
	kept->reordering = max_t(u32, tp->reordering,
				 READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_reordering));
	kept->reord_seen = tp->reord_seen;
	kept->srtt_us = tp->srtt_us;
	kept->mdev_us = tp->mdev_us;
	kept->mdev_max_us = tp->mdev_max_us;
	kept->rttvar_us = tp->rttvar_us;
	kept->rtt_seq = tp->rtt_seq;
	kept->rto = icsk->icsk_rto;
	kept->backoff = icsk->icsk_backoff;
}

static void elfn_restore(const struct elfn_connection *c, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct elfn_kept *kept = &c->kept;
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, max(kept->cwnd, 1U));
	tp->snd_cwnd_cnt = kept->cwnd_cnt;
	tp->snd_ssthresh = kept->ssthresh;
	tp->prior_cwnd = kept->prior_cwnd;
	/* Probes and their duplicates say nothing of how the path reorders. */
	tp->reordering = kept->reordering;
	tp->reord_seen = kept->reord_seen;
	tp->srtt_us = kept->srtt_us;
	tp->mdev_us = kept->mdev_us;
	tp->mdev_max_us = kept->mdev_max_us;
	tp->rttvar_us = kept->rttvar_us;
	tp->rtt_seq = kept->rtt_seq;
	icsk->icsk_rto = kept->rto;
	icsk->icsk_backoff = kept->backoff;
	/* Stand-by was neither idle time nor a window left unused (RFC 2861). */
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
	tp->lsndtime = tcp_jiffies32;
}

/* What a new connection has (RFC 6298 section 2). */
static void elfn_default_timer(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->srtt_us = 0;
	tp->mdev_us = jiffies_to_usecs(TCP_TIMEOUT_INIT);
	tp->mdev_max_us = 0;
	tp->rttvar_us = 0;
	tp->rtt_seq = tp->snd_nxt;
	icsk->icsk_rto = TCP_TIMEOUT_INIT;
	icsk->icsk_backoff = 0;
}

/* Have release_sock() send what is marked lost, then new data, as far as cwnd allows. */
static void elfn_send_on_release(struct sock *sk)
{
	if (!test_and_set_bit(TCP_TSQ_DEFERRED, &sk->sk_tsq_flags))
		sock_hold(sk);
}

/*
 * What waits at its origin leaves when there is a route. What was salvaged is as good as lost when
 * it has not been acknowledged for as long as the retransmission timer would have given it.
 */
static bool elfn_travels(const struct elfn_connection *c, u32 sequence)
{
	u32 i;

	for (i = 0; i < c->travelling_count; i++) {
		const struct elfn_travelling *t = &c->travelling[i];

		if (t->sequence == sequence)
			return t->fate == ELFN_FATE_HELD ||
			       time_before(jiffies, t->since + c->kept.rto);
	}
	return false;
}

/*
 * The probe itself was dropped: it went along a route that its origin did not know to be gone. Only
 * the next one makes the origin look for another. How long the origin then waits between its
 * requests doubles from that time on. So the next follows at once, but one a stand-by. Else a host
 * that answers every probe so would set how often they are sent.
 */
static void elfn_hasten(struct elfn_connection *c, const struct elfn_notice *notice)
{
	unsigned long soon = jiffies + ELFN_BUSY_JIFFIES;

	if (c->hastened || !c->probed || notice->fate != ELFN_FATE_DROPPED ||
	    notice->sequence != c->probe || !time_before(soon, c->next_probe))
		return;
	c->hastened = true;
	c->next_probe = soon;
	mod_delayed_work(elfn_queue, &c->work, ELFN_BUSY_JIFFIES);
}

/* Another notice for a connection in stand-by. */
void elfn_heed(struct elfn_connection *c, const struct elfn_notice *notice)
{
	u32 i;

	c->notices++;
	elfn_hasten(c, notice);
	if (before(notice->sequence, c->named))
		c->named = notice->sequence;
	if (notice->of_route)
		c->travelling_count = 0;
	for (i = 0; i < c->travelling_count; i++)
		if (c->travelling[i].sequence == notice->sequence)
			c->travelling[i--] = c->travelling[--c->travelling_count];
	if ((notice->fate == ELFN_FATE_SALVAGED || notice->fate == ELFN_FATE_HELD) &&
	    c->travelling_count < ELFN_TRAVELLING)
		c->travelling[c->travelling_count++] = (struct elfn_travelling) {
			.sequence = notice->sequence,
			.fate = notice->fate,
			.since = jiffies,
		};
}

/* Why the connection cannot go on standing by; NULL if it can. */
static const char *elfn_hindrance(const struct elfn_connection *c, struct sock *sk)
{
	u32 user_ms = READ_ONCE(inet_csk(sk)->icsk_user_timeout);
	u64 now_ns = ktime_get_ns();

	if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)) ||
	    sock_flag(sk, SOCK_DEAD))
		return "closed";
	if (READ_ONCE(c->switched_off))
		return "switched-off";
	if (time_after_eq(jiffies, c->give_up))
		return "gave-up";
	/* RFC 5482; the kernel's timer aborts the connection. */
	if (user_ms && now_ns - c->since_ns >= (u64)user_ms * NSEC_PER_MSEC)
		return "user-timeout";
	if (inet_addr_type(sock_net(sk), inet_sk(sk)->inet_saddr) != RTN_LOCAL)
		return "address";
	return NULL;
}

/* Segments that the break swallowed: sent before it, not acknowledged, not known to travel. */
static void elfn_mark_swallowed(struct elfn_connection *c, struct sock *sk)
{
	struct sk_buff *skb = tcp_rtx_queue_head(sk);

	skb_rbtree_walk_from(skb) {
		struct tcp_skb_cb *scb = TCP_SKB_CB(skb);

		/* No round trip is measured across the break (Karn). */
		scb->sacked |= TCPCB_EVER_RETRANS;
		if (scb->sacked & TCPCB_SACKED_ACKED || !before(scb->seq, c->end))
			continue;
		/* An answer that does not cover the probe leaves it on its way. */
		if ((c->probed && scb->seq == c->probe) || elfn_travels(c, scb->seq))
			continue;
		elfn_mark_lost(sk, skb);
		c->resent += tcp_skb_pcount(skb);
	}
}

/* The socket is as it was, but for what was acknowledged meanwhile; its timer runs again. */
static void elfn_give_back(struct elfn_connection *c, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, c->own);
	elfn_clear_marks(sk);
	if (tcp_is_reno(tp))
		tp->sacked_out = 0;
	elfn_restore(c, sk);
	tp->undo_retrans = -1;
	tp->retrans_stamp = 0;
}

static void elfn_go_on(struct elfn_connection *c, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->lost_out)
		icsk->icsk_ca_state = TCP_CA_Loss;
	else
		icsk->icsk_ca_state = tp->sacked_out ? TCP_CA_Disorder : TCP_CA_Open;
	tp->high_seq = tp->snd_nxt;
	if (tp->packets_out)
		inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS, icsk->icsk_rto, TCP_RTO_MAX);
	elfn_send_on_release(sk);
}

static void elfn_resume(struct elfn_connection *c, struct sock *sk)
{
	elfn_give_back(c, sk);
	elfn_mark_swallowed(c, sk);
	if (c->settings.resume == ELFN_RESUME_WINDOW_1)
		tcp_snd_cwnd_set(tcp_sk(sk), 1);
	else if (c->settings.resume == ELFN_RESUME_DEFAULT_TIMER)
		elfn_default_timer(sk);
	elfn_go_on(c, sk);
	c->reason = "acknowledged";
}

/* Without an answer, nothing is known of the segments; the kernel's own timer takes over. */
static void elfn_leave(struct elfn_connection *c, struct sock *sk, const char *reason)
{
	elfn_give_back(c, sk);
	elfn_go_on(c, sk);
	c->reason = reason;
}

/* Stand-by is over; under the socket's lock. The caller gives back socket and module. */
static void elfn_finish(struct elfn_connection *c, const struct sock *sk)
{
	struct elfn_net *en = c->en;

	/* Nobody queues the work from here on, and who takes the mutex next may free the record. */
	cancel_delayed_work(&c->work);
	mutex_lock(&en->mutex);
	c->sk = NULL;
	c->standby_ns += ktime_get_ns() - c->since_ns;
	c->en->tell(c, "resume", sk->sk_state == TCP_CLOSE ? 0 : tcp_sk(sk)->snd_una);
	mutex_unlock(&en->mutex);
}

/* The first segment that the peer does not have. */
static struct sk_buff *elfn_first_missing(struct sock *sk)
{
	struct sk_buff *skb = tcp_rtx_queue_head(sk);

	skb_rbtree_walk_from(skb)
		if (!(TCP_SKB_CB(skb)->sacked & TCPCB_SACKED_ACKED))
			return skb;
	return NULL;
}

/*
 * Sends the first segment; releases the socket's lock and takes it again. What stays pending is
 * set to the reordering timer's value, for which tcp_xmit_retransmit_queue() leaves the timer
 * alone; no timer runs.
 */
static void elfn_probe(struct elfn_connection *c, struct sock *sk, struct sk_buff *skb)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool probed = c->probed;
	u32 before_sending = tp->total_retrans;

	elfn_hold(sk);
	elfn_mark_lost(sk, skb);
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	icsk->icsk_pending = ICSK_TIME_REO_TIMEOUT;
	c->probe = TCP_SKB_CB(skb)->seq;
	c->probed = true;
	elfn_send_on_release(sk);
	release_sock(sk);
	lock_sock(sk);
	if (!elfn_standing_by(sk))
		return;
	elfn_hold(sk);
	tp->retrans_stamp = 0;
	if (tp->total_retrans != before_sending) {
		c->probes++;
		c->next_probe = jiffies + msecs_to_jiffies(c->settings.probe_ms);
		c->en->tell(c, "probe", c->probe);
	} else {
		c->probed = probed;
		c->next_probe = jiffies + ELFN_BUSY_JIFFIES;
	}
}

/* One step; whether stand-by is over. */
static bool elfn_step(struct elfn_connection *c, struct sock *sk)
{
	const char *hindrance = elfn_hindrance(c, sk);
	struct sk_buff *first;

	if (!elfn_standing_by(sk)) {
		if (hindrance || !inet_csk(sk)->icsk_ca_initialized) {
			c->reason = hindrance ?: "closed";
			return true;
		}
		/* Another algorithm has taken the old one's place. */
		c->released = false;
		elfn_replace_algorithm(c, sk);
		elfn_hold(sk);
	}
	if (c->answered) {
		elfn_resume(c, sk);
		return true;
	}
	first = elfn_first_missing(sk);
	/* All was acknowledged selectively, then taken back (RFC 2018 section 8). */
	if (!first && !hindrance)
		hindrance = "reneged";
	if (hindrance) {
		elfn_leave(c, sk, hindrance);
		return true;
	}
	if (time_after_eq(jiffies, c->next_probe))
		elfn_probe(c, sk, first);
	return false;
}

static void elfn_work(struct work_struct *work)
{
	struct elfn_connection *c = container_of(to_delayed_work(work), struct elfn_connection, work);
	struct sock *sk = c->sk;
	bool over;
	long wait;

	/* Woken once more than needed. */
	if (!sk)
		return;
	lock_sock(sk);
	over = elfn_step(c, sk);
	if (over) {
		elfn_finish(c, sk);
	} else if (!c->answered && !c->released) {
		wait = c->next_probe - jiffies;
		queue_delayed_work(elfn_queue, &c->work, max(wait, 1L));
	}
	release_sock(sk);
	if (over) {
		sock_put(sk);
		module_put(THIS_MODULE);
	}
}

/* Forgets the connections of longest ago; under the namespace's mutex. */
static void elfn_make_room(struct elfn_net *en)
{
	struct elfn_connection *c, *next;

	list_for_each_entry_safe(c, next, &en->connections, list) {
		if (en->remembered < ELFN_REMEMBERED)
			return;
		if (c->sk)
			continue;
		list_del(&c->list);
		en->remembered--;
		kfree_rcu(c, rcu);
	}
}

/* The record of a connection, an earlier one if there is; under the namespace's mutex. */
static struct elfn_connection *elfn_record(struct elfn_net *en, const struct elfn_tuple *tuple)
{
	struct elfn_connection *c;

	list_for_each_entry(c, &en->connections, list)
		if (!c->sk && !memcmp(&c->tuple, tuple, sizeof(*tuple))) {
			list_move_tail(&c->list, &en->connections);
			return c;
		}
	elfn_make_room(en);
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return NULL;
	c->en = en;
	c->tuple = *tuple;
	c->reason = "";
	INIT_DELAYED_WORK(&c->work, elfn_work);
	list_add_tail(&c->list, &en->connections);
	en->remembered++;
	return c;
}

/* Begins stand-by; under the socket's lock. -EPERM: switched off; -ENOMEM. */
int elfn_stand_by(struct elfn_net *en, struct sock *sk, const struct elfn_notice *notice)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct elfn_connection *c;
	struct elfn_settings settings;
	unsigned long first;

	mutex_lock(&en->mutex);
	settings = *elfn_settings(en, notice->tuple.local_port);
	if (!settings.enabled) {
		mutex_unlock(&en->mutex);
		return -EPERM;
	}
	c = elfn_record(en, &notice->tuple);
	if (!c) {
		mutex_unlock(&en->mutex);
		return -ENOMEM;
	}
	c->settings = settings;
	c->switched_off = false;
	c->sk = sk;
	mutex_unlock(&en->mutex);
	sock_hold(sk);
	__module_get(THIS_MODULE);

	c->end = tcp_sk(sk)->snd_nxt;
	c->named = notice->sequence;
	c->travelling_count = 0;
	c->probed = false;
	c->hastened = false;
	c->answered = false;
	c->released = false;
	c->standbys++;
	c->since_ns = ktime_get_ns();
	elfn_heed(c, notice);
	elfn_keep(&c->kept, sk);
	first = msecs_to_jiffies(settings.probe_ms);
	if (settings.first_probe == ELFN_FIRST_PROBE_RTO)
		first = min_t(unsigned long, first, icsk->icsk_rto);
	c->next_probe = jiffies + first;
	c->give_up = jiffies + msecs_to_jiffies(settings.give_up_ms);
	elfn_replace_algorithm(c, sk);
	elfn_hold(sk);
	c->en->tell(c, "standby", notice->sequence);
	mod_delayed_work(elfn_queue, &c->work, first);
	return 0;
}

/* Ends every stand-by of the namespace, whose sockets then have what they had before. */
void elfn_end_switched_off(struct elfn_net *en)
{
	struct elfn_connection *c;

	mutex_lock(&en->mutex);
	list_for_each_entry(c, &en->connections, list)
		if (c->sk && !elfn_settings(en, c->tuple.local_port)->enabled) {
			WRITE_ONCE(c->switched_off, true);
			mod_delayed_work(elfn_queue, &c->work, 0);
		}
	mutex_unlock(&en->mutex);
}

/* With the namespace, in which ELFN is switched off by now. */
void elfn_forget_all(struct elfn_net *en)
{
	struct elfn_connection *c, *next;

	elfn_end_switched_off(en);
	list_for_each_entry_safe(c, next, &en->connections, list) {
		flush_delayed_work(&c->work);
		WARN_ON_ONCE(c->sk);
		list_del(&c->list);
		kfree_rcu(c, rcu);
	}
}
