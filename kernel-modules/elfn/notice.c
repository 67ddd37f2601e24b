// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a notice to the connection that it means. Anyone who can send packets can send notices. So a
 * notice is believed only if it names a sequence number in flight of a connection of the same
 * namespace (RFC 5927 section 4.1). Whatever it says, its effect is stand-by at most.
 */

#include <linux/slab.h>
#include <linux/version.h>
#include <net/inet_hashtables.h>
#include "notice.h"

/* Notices by ICMP that wait for process context. */
#define ELFN_WAITING 128

struct elfn_waiting {
	struct list_head	list;
	struct elfn_notice	notice;
};

/* The socket that sent the segment, with a reference; NULL if there is none. */
struct sock *elfn_socket(struct elfn_net *en, const struct elfn_notice *notice)
{
	const struct elfn_tuple *t = &notice->tuple;
	struct sock *sk;

	rcu_read_lock();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	sk = __inet_lookup_established(en->net, t->remote, t->remote_port, t->local,
				       ntohs(t->local_port), notice->ifindex, 0);
#else
	sk = __inet_lookup_established(en->net, en->net->ipv4.tcp_death_row.hashinfo,
				       t->remote, t->remote_port, t->local,
				       ntohs(t->local_port), notice->ifindex, 0);
#endif
	rcu_read_unlock();
	if (sk && (!sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP)) {
		sock_gen_put(sk);
		return NULL;
	}
	return sk;
}

bool elfn_in_flight(const struct sock *sk, u32 sequence)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return !before(sequence, READ_ONCE(tp->snd_una)) && before(sequence, READ_ONCE(tp->snd_nxt));
}

/* Connections that can stand by: data may be under way, and somebody will read the result. */
static bool elfn_fit(const struct sock *sk)
{
	return (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT) &&
	       !sock_flag(sk, SOCK_DEAD) && !tcp_sk(sk)->repair &&
	       inet_csk(sk)->icsk_ca_initialized;
}

static enum elfn_count elfn_take(struct elfn_net *en, struct sock *sk,
				 const struct elfn_notice *notice)
{
	struct elfn_connection *c;

	if (!elfn_fit(sk))
		return ELFN_COUNT_WRONG_STATE;
	if (!elfn_in_flight(sk, notice->sequence))
		return ELFN_COUNT_NOT_IN_FLIGHT;
	c = elfn_standing_by(sk);
	if (c) {
		elfn_heed(c, notice);
		return ELFN_COUNT_REPEATED;
	}
	switch (elfn_stand_by(en, sk, notice)) {
	case 0:
		return ELFN_COUNT_STANDBY;
	case -EPERM:
		return ELFN_COUNT_SWITCHED_OFF;
	default:
		return ELFN_COUNT_OVERLOAD;
	}
}

void elfn_notice(struct elfn_net *en, const struct elfn_notice *notice)
{
	struct sock *sk = elfn_socket(en, notice);
	enum elfn_count what;

	if (!sk) {
		elfn_count(en, ELFN_COUNT_NO_CONNECTION);
		return;
	}
	lock_sock(sk);
	what = elfn_take(en, sk, notice);
	release_sock(sk);
	sock_put(sk);
	elfn_count(en, what);
}

/* From a softirq: whether the notice will be heard. */
bool elfn_defer(struct elfn_net *en, const struct elfn_notice *notice)
{
	struct elfn_waiting *w;
	bool room;

	w = kmalloc(sizeof(*w), GFP_ATOMIC);
	if (!w)
		return false;
	w->notice = *notice;
	spin_lock_bh(&en->waiting_lock);
	room = en->waiting_count < ELFN_WAITING;
	if (room) {
		en->waiting_count++;
		list_add_tail(&w->list, &en->waiting);
	}
	spin_unlock_bh(&en->waiting_lock);
	if (!room) {
		kfree(w);
		return false;
	}
	queue_work(elfn_queue, &en->notice_work);
	return true;
}

static struct elfn_waiting *elfn_next_waiting(struct elfn_net *en)
{
	struct elfn_waiting *w;

	spin_lock_bh(&en->waiting_lock);
	w = list_first_entry_or_null(&en->waiting, struct elfn_waiting, list);
	if (w) {
		list_del(&w->list);
		en->waiting_count--;
	}
	spin_unlock_bh(&en->waiting_lock);
	return w;
}

void elfn_deferred(struct work_struct *work)
{
	struct elfn_net *en = container_of(work, struct elfn_net, notice_work);
	struct elfn_waiting *w;

	while ((w = elfn_next_waiting(en))) {
		elfn_notice(en, &w->notice);
		kfree(w);
		cond_resched();
	}
}

void elfn_forget_deferred(struct elfn_net *en)
{
	struct elfn_waiting *w;

	while ((w = elfn_next_waiting(en)))
		kfree(w);
}
