/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOPLAB_ELFN_STANDBY_H
#define HOPLAB_ELFN_STANDBY_H

#include <net/tcp.h>
#include "namespace.h"

/* Segments of a connection known to be still on their way. A window has no more in practice. */
#define ELFN_TRAVELLING 64

/* The segment that a notice names, seen from its sender. */
struct elfn_notice {
	struct elfn_tuple	tuple;
	u32			sequence;
	u8			fate;
	bool			of_route;	/* what travelled may be lost as well */
	int			ifindex;
};

/* What stand-by keeps. */
struct elfn_kept {
	u32	cwnd;
	u32	cwnd_cnt;
	u32	ssthresh;
	u32	prior_cwnd;
	u32	reordering;
	u32	reord_seen;
	u32	srtt_us;
	u32	mdev_us;
	u32	mdev_max_us;
	u32	rttvar_us;
	u32	rtt_seq;
	u32	rto;		/* jiffies */
	u8	backoff;
};

/* A segment that met the break and was not dropped. */
struct elfn_travelling {
	u32		sequence;
	u8		fate;
	unsigned long	since;		/* jiffies */
};

struct elfn_connection {
	/*
	 * Stands for the socket's own congestion control while in stand-by. It is a copy of it in
	 * which every hook that could react is one of the module. Read by others under RCU.
	 */
	struct tcp_congestion_ops	ops;
	const struct tcp_congestion_ops	*own;
	struct rcu_head			rcu;
	struct list_head		list;
	struct elfn_net			*en;
	struct elfn_tuple		tuple;

	/* In stand-by; the rest under the socket's lock. */
	struct sock			*sk;
	struct elfn_settings		settings;
	struct elfn_kept		kept;
	struct delayed_work		work;
	u32				end;		/* snd_nxt when stand-by began */
	u32				named;		/* lowest sequence number of a notice */
	u32				probe;		/* sequence number of the last probe */
	struct elfn_travelling		travelling[ELFN_TRAVELLING];
	u32				travelling_count;
	unsigned long			next_probe;	/* jiffies */
	unsigned long			give_up;	/* jiffies */
	u64				since_ns;
	bool				probed;
	bool				hastened;	/* a dropped probe was followed at once */
	bool				answered;
	bool				released;
	bool				switched_off;

	/* For the dump. */
	u64				standby_ns;
	u32				standbys;
	u32				probes;
	u32				notices;
	u32				early_acks;
	u32				resent;
	const char			*reason;
};

struct elfn_connection *elfn_standing_by(const struct sock *sk);
int elfn_stand_by(struct elfn_net *en, struct sock *sk, const struct elfn_notice *notice);
void elfn_heed(struct elfn_connection *c, const struct elfn_notice *notice);
void elfn_end_switched_off(struct elfn_net *en);
void elfn_forget_all(struct elfn_net *en);

#endif
