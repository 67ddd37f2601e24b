/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the module share. Locks: the socket's first, then elfn_net.mutex; both are
 * taken in process context only.
 */
#ifndef HOPLAB_ELFN_H
#define HOPLAB_ELFN_H

#include <linux/mutex.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/tcp.h>
#include "elfn_netlink.h"

/* Connections remembered for the dump in a namespace; those in stand-by are never forgotten. */
#define ELFN_REMEMBERED 1024
/* Segments of a connection known to be still on their way. A window has no more in practice. */
#define ELFN_TRAVELLING 64
/* Notices by ICMP that wait for process context. */
#define ELFN_WAITING 128

#define ELFN_PROBE_MS 2000
#define ELFN_PROBE_MS_LEAST 10
#define ELFN_PROBE_MS_MOST 30000
#define ELFN_GIVE_UP_MS 300000

struct elfn_settings {
	bool	enabled;
	u8	resume;
	u8	first_probe;
	u32	probe_ms;
	u32	give_up_ms;
};

/* A namespace. */
struct elfn_net {
	struct net		*net;
	struct mutex		mutex;		/* settings, ports, connections */
	struct elfn_settings	settings;
	struct xarray		ports;		/* local port: its own settings */
	struct list_head	connections;	/* latest stand-by last */
	u32			remembered;
	bool			hooked;
	atomic64_t		counts[ELFN_COUNTS];

	spinlock_t		waiting_lock;
	struct list_head	waiting;
	u32			waiting_count;
	struct work_struct	notice_work;
};

/* The segment that a notice names, seen from its sender. */
struct elfn_notice {
	struct elfn_tuple	tuple;
	u32			sequence;
	u8			fate;
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
	 * Stands for the socket's own congestion control while in stand-by: a copy of it in which
	 * every hook that could react is one of the module. Read by others under RCU.
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

extern struct workqueue_struct *elfn_queue;

struct elfn_net *elfn_net(const struct net *net);
const struct elfn_settings *elfn_settings(struct elfn_net *en, __be16 local_port);
void elfn_end_all(struct elfn_net *en);

static inline void elfn_count(struct elfn_net *en, enum elfn_count what)
{
	atomic64_inc(&en->counts[what]);
}

/* standby.c */
struct elfn_connection *elfn_standing_by(const struct sock *sk);
int elfn_stand_by(struct elfn_net *en, struct sock *sk, const struct elfn_notice *notice);
void elfn_heed(struct elfn_connection *c, const struct elfn_notice *notice);

/* notice.c */
struct sock *elfn_socket(struct elfn_net *en, const struct elfn_notice *notice);
bool elfn_in_flight(const struct sock *sk, u32 sequence);
void elfn_notices(struct elfn_net *en, const struct elfn_notice *list, unsigned int count);
bool elfn_defer(struct elfn_net *en, const struct elfn_notice *notice);
void elfn_deferred(struct work_struct *work);
void elfn_forget_deferred(struct elfn_net *en);

/* icmp.c */
int elfn_hook(struct elfn_net *en, bool on);

/* netlink.c */
void elfn_tell(struct elfn_connection *c, const char *kind, u32 sequence);
int elfn_netlink_register(void);
void elfn_netlink_unregister(void);

#endif
