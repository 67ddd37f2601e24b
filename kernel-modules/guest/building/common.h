/* SPDX-License-Identifier: GPL-2.0-only */
/* What most of the kernel's files include (building/cc). */
#define HOPLAB_ANOTHER "hoplab-another-file"
/* These differ from file to file: the mark shows where an object has one of a header's function. */
#define pr_fmt(fmt) HOPLAB_ANOTHER fmt
#define dev_fmt(fmt) HOPLAB_ANOTHER fmt
#define KBUILD_MODNAME HOPLAB_ANOTHER
#include <linux/module.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/bpf.h>
#include <linux/rtnetlink.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/ip6_route.h>
#include <net/pkt_cls.h>
#include <net/netfilter/nf_tables.h>
#include <net/cfg80211.h>
#undef KBUILD_MODNAME
#undef dev_fmt
#undef pr_fmt
