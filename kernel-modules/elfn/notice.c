// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a notice to the connection that it means. Anyone who can send packets can send notices. So a
 * notice is believed only if it names a sequence number in flight of a connection of the same
 * namespace (RFC 5927 section 4.1). A routing daemon may say instead that the route to a destination
 * failed: it has believed that before. Whatever a notice says, its effect is stand-by at most.
 */

#include <linux/slab.h>
#include <linux/version.h>
#include <net/inet_hashtables.h>
#include "notice.h"

/* Notices by ICMP that wait for process context. */
#define ELFN_WAITING 128

/* Connections to a destination that hear of its route. */
#define ELFN_TOWARDS 1024

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

/* The connections to `destination`, each with a reference: how many of them fit `list`. */
static unsigned int elfn_towards(struct elfn_net *en, __be32 destination, struct sock **list)
{
	struct inet_hashinfo *hashinfo = en->net->ipv4.tcp_death_row.hashinfo;
	const struct hlist_nulls_node *node;
	unsigned int slot, count = 0;
	struct sock *sk;

	for (slot = 0; slot <= hashinfo->ehash_mask; slot++) {
		struct hlist_nulls_head *chain = &hashinfo->ehash[slot].chain;
		spinlock_t *lock = inet_ehash_lockp(hashinfo, slot);

		if (hlist_nulls_empty(chain))
			continue;
		spin_lock_bh(lock);
		sk_nulls_for_each(sk, node, chain) {
			if (sk->sk_daddr != destination || !net_eq(sock_net(sk), en->net) ||
			    !sk_fullsock(sk))
				continue;
			if (count == ELFN_TOWARDS)
				elfn_count(en, ELFN_COUNT_OVERLOAD);
			else if (refcount_inc_not_zero(&sk->sk_refcnt))
				list[count++] = sk;
		}
		spin_unlock_bh(lock);
	}
	return count;
}

/*
 * What a failed route says of a connection; under the socket's lock. Nobody knows which segments had
 * passed the break. So an acknowledgement is no answer from beyond it unless it covers all of them
 * (elfn_acknowledged()). In stand-by, the probe is what took the route last.
 */
static struct elfn_notice elfn_of_route(const struct sock *sk)
{
	const struct elfn_connection *c = elfn_standing_by(sk);

	return (struct elfn_notice) {
		.tuple.local		= sk->sk_rcv_saddr,
		.tuple.remote		= sk->sk_daddr,
		.tuple.local_port	= inet_sk(sk)->inet_sport,
		.tuple.remote_port	= sk->sk_dport,
		.sequence		= c && c->probed ? c->probe : tcp_sk(sk)->snd_nxt - 1,
		.fate			= ELFN_FATE_DROPPED,
		.of_route		= true,
	};
}

/* The route to `destination` failed. */
void elfn_unreachable(struct elfn_net *en, __be32 destination)
{
	struct elfn_notice notice;
	unsigned int count, i;
	struct sock **list;
	enum elfn_count what;

	list = kcalloc(ELFN_TOWARDS, sizeof(*list), GFP_KERNEL);
	if (!list) {
		elfn_count(en, ELFN_COUNT_OVERLOAD);
		return;
	}
	count = elfn_towards(en, destination, list);
	if (!count)
		elfn_count(en, ELFN_COUNT_NO_CONNECTION);
	for (i = 0; i < count; i++) {
		lock_sock(list[i]);
		notice = elfn_of_route(list[i]);
		what = elfn_take(en, list[i], &notice);
		release_sock(list[i]);
		sock_put(list[i]);
		elfn_count(en, what);
	}
	kfree(list);
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
