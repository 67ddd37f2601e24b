/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many flows a new radio's queues tell apart. Otherwise there are 4096, of a hundred octets each.
 * net/mac80211/tx.c includes this file.
 */

#include <linux/moduleparam.h>

static unsigned int fq_flows = 4096;
module_param(fq_flows, uint, 0644);
