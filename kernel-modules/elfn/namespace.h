/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a namespace has. Locks: the socket's first, then elfn_net.mutex; both are taken in process
 * context only.
 */
#ifndef HOPLAB_ELFN_NAMESPACE_H
#define HOPLAB_ELFN_NAMESPACE_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "elfn_netlink.h"

struct elfn_connection;
struct net;

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
	/* Reports a stand-by to all who listen; under the socket's lock. */
	void			(*tell)(const struct elfn_connection *c, const char *kind,
					u32 sequence);

	spinlock_t		waiting_lock;
	struct list_head	waiting;
	u32			waiting_count;
	struct work_struct	notice_work;
};

extern struct workqueue_struct *elfn_queue;
extern unsigned int elfn_net_id;

struct elfn_net *elfn_net(const struct net *net);
const struct elfn_settings *elfn_settings(struct elfn_net *en, __be16 local_port);

static inline void elfn_count(struct elfn_net *en, enum elfn_count what)
{
	atomic64_inc(&en->counts[what]);
}

#endif
