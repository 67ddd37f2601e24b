// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explicit link failure notification for TCP (Holland and Vaidya, MobiCom 1999). A connection that
 * learns that its route failed stands by instead of taking the silence for congestion.
 *
 *     namespace.c  settings and counters
 *     standby.c    stand-by itself: what it holds, its probes, how it ends
 *     notice.c     who is meant: a notice names a segment in flight (RFC 5927), or a destination
 *     icmp.c       notices as ICMP host unreachable
 *     netlink.c    notices from a routing daemon, settings, what is to be seen
 *     main.c       the module
 *
 * Each calls only those above it; stand-by tells netlink.c through elfn_net.tell.
 *
 * Nothing happens in a namespace that has not switched it on. A connection in stand-by holds the
 * module, so unloading is refused until it ends.
 */

#include <linux/module.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include "icmp.h"
#include "netlink.h"
#include "notice.h"

/* From 6.18 on a queue says that it is each processor's own; kernels from 7.0 on warn of one that does not. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define ELFN_QUEUE	(WQ_MEM_RECLAIM | WQ_PERCPU)
#else
#define ELFN_QUEUE	WQ_MEM_RECLAIM
#endif

static int __net_init elfn_enter_namespace(struct net *net)
{
	struct elfn_net *en = elfn_net(net);

	en->net = net;
	en->tell = elfn_tell;
	mutex_init(&en->mutex);
	xa_init(&en->ports);
	INIT_LIST_HEAD(&en->connections);
	spin_lock_init(&en->waiting_lock);
	INIT_LIST_HEAD(&en->waiting);
	INIT_WORK(&en->notice_work, elfn_deferred);
	return 0;
}

/*
 * The sockets of user space hold their namespace, and stand-by holds its socket. So what is left
 * here belongs to sockets of the kernel, which their owners have closed by now.
 */
static void __net_exit elfn_leave_namespace(struct net *net)
{
	struct elfn_net *en = elfn_net(net);
	struct elfn_settings *own;
	unsigned long port;

	elfn_hook(en, false);
	cancel_work_sync(&en->notice_work);
	elfn_forget_deferred(en);
	xa_for_each(&en->ports, port, own)
		kfree(own);
	xa_destroy(&en->ports);
	en->settings.enabled = false;
	elfn_forget_all(en);
}

static struct pernet_operations elfn_namespaces = {
	.init	= elfn_enter_namespace,
	.exit	= elfn_leave_namespace,
	.id	= &elfn_net_id,
	.size	= sizeof(struct elfn_net),
};

static int __init elfn_load(void)
{
	int err;

	elfn_queue = alloc_workqueue("elfn", ELFN_QUEUE, 0);
	if (!elfn_queue)
		return -ENOMEM;
	err = register_pernet_subsys(&elfn_namespaces);
	if (err)
		goto no_namespaces;
	err = elfn_netlink_register();
	if (err)
		goto no_netlink;
	return 0;

no_netlink:
	unregister_pernet_subsys(&elfn_namespaces);
no_namespaces:
	destroy_workqueue(elfn_queue);
	return err;
}

/* The last reference is given back by the queue's work, which has ended when the queue is gone. */
static void __exit elfn_unload(void)
{
	elfn_netlink_unregister();
	unregister_pernet_subsys(&elfn_namespaces);
	destroy_workqueue(elfn_queue);
	rcu_barrier();
}

module_init(elfn_load);
module_exit(elfn_unload);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP stand-by on explicit link failure notification (Holland, Vaidya 1999)");
