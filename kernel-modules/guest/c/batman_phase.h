/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instant at which B.A.T.M.A.N. advanced sends a packet. All stations have this kernel's one tick: where a
 * packet fell due at one, neighbours would send at the same instant, and hear nothing.
 * net/batman-adv/send.c includes this file.
 */

#include <linux/hrtimer.h>
#include <linux/random.h>
#include <linux/version.h>
#include <linux/workqueue.h>

static enum hrtimer_restart batadv_phase_has_come(struct hrtimer *timer)
{
	struct batadv_forw_packet *forw_packet;

	forw_packet = container_of(timer, struct batadv_forw_packet, phase_timer);
	queue_delayed_work(batadv_event_workqueue, &forw_packet->delayed_work, 0);
	return HRTIMER_NORESTART;
}

static void batadv_phase_setup(struct batadv_forw_packet *forw_packet)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&forw_packet->phase_timer, batadv_phase_has_come, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(&forw_packet->phase_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	forw_packet->phase_timer.function = batadv_phase_has_come;
#endif
}

/* The packet falls due in this tick. */
static void batadv_phase_start(struct batadv_forw_packet *forw_packet, unsigned long send_time)
{
	u64 delay = jiffies_to_nsecs(max_t(long, send_time - jiffies, 0));

	hrtimer_start(&forw_packet->phase_timer,
		      ns_to_ktime(delay + get_random_u32_below(TICK_NSEC)),
		      HRTIMER_MODE_REL_SOFT);
}

/* These packets will not be sent. */
static void batadv_phases_cancel(struct hlist_head *head)
{
	struct batadv_forw_packet *forw_packet;

	hlist_for_each_entry(forw_packet, head, cleanup_list)
		hrtimer_cancel(&forw_packet->phase_timer);
}
