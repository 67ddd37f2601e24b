/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instant at which B.A.T.M.A.N. advanced sends a packet (phase.h). net/batman-adv/send.c includes this file.
 */

#include <hoplab/phase.h>
#include <linux/workqueue.h>

static enum hrtimer_restart batadv_phase_has_come(struct hrtimer *timer)
{
	struct batadv_forw_packet *forw_packet;

	forw_packet = container_of(timer, struct batadv_forw_packet, phase_timer);
	queue_delayed_work(batadv_event_workqueue, &forw_packet->delayed_work, 0);
	return HRTIMER_NORESTART;
}

/* The packet falls due in this tick. */
static void batadv_phase_start(struct batadv_forw_packet *forw_packet, unsigned long send_time)
{
	phase_start(&forw_packet->phase_timer, jiffies_to_nsecs(max_t(long, send_time - jiffies, 0)));
}

/* These packets will not be sent. */
static void batadv_phases_cancel(struct hlist_head *head)
{
	struct batadv_forw_packet *forw_packet;

	hlist_for_each_entry(forw_packet, head, cleanup_list)
		hrtimer_cancel(&forw_packet->phase_timer);
}
