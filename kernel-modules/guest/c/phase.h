/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An instant of its own within a tick, for work that falls due at one. All stations have this kernel's one tick:
 * where two act at it, they send at the same instant, and neither hears the other.
 */

#ifndef HOPLAB_PHASE_H
#define HOPLAB_PHASE_H

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/version.h>

static inline void phase_setup(struct hrtimer *timer,
			       enum hrtimer_restart (*has_come)(struct hrtimer *timer))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, has_come, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	timer->function = has_come;
#endif
}

/* The work falls due in the tick that begins after delay_ns. */
static inline void phase_start(struct hrtimer *timer, u64 delay_ns)
{
	hrtimer_start(timer, ns_to_ktime(delay_ns + get_random_u32_below(TICK_NSEC)),
		      HRTIMER_MODE_REL_SOFT);
}

#endif
