// SPDX-License-Identifier: GPL-2.0-only
/* A namespace and its settings. */

#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "namespace.h"

struct workqueue_struct *elfn_queue;
unsigned int elfn_net_id;

struct elfn_net *elfn_net(const struct net *net)
{
	return net_generic(net, elfn_net_id);
}

/*
 * Those of the port, else those of the namespace. They change under the mutex and in place, so
 * that a single one of them can be read without it.
 */
const struct elfn_settings *elfn_settings(struct elfn_net *en, __be16 local_port)
{
	const struct elfn_settings *own = xa_load(&en->ports, ntohs(local_port));

	return own ?: &en->settings;
}
