/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOPLAB_ELFN_NETLINK_FAMILY_H
#define HOPLAB_ELFN_NETLINK_FAMILY_H

#include "standby.h"

void elfn_tell(const struct elfn_connection *c, const char *kind, u32 sequence);
int elfn_netlink_register(void);
void elfn_netlink_unregister(void);

#endif
