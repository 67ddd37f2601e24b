/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instant at which a station of a mesh asks again for a path, or announces a root. All stations have this
 * kernel's one tick: where two asked at it, they sent at the same instant and heard nothing, and so did each retry.
 * net/mac80211/mesh.c includes this file.
 */

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/version.h>

void mesh_work_within_tick(struct ieee80211_sub_if_data *sdata)
{
	hrtimer_start(&sdata->u.mesh.phase_timer,
		      ns_to_ktime(get_random_u32_below(TICK_NSEC)),
		      HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart mesh_phase_has_come(struct hrtimer *timer)
{
	struct ieee80211_sub_if_data *sdata;

	sdata = container_of(timer, struct ieee80211_sub_if_data, u.mesh.phase_timer);
	wiphy_work_queue(sdata->local->hw.wiphy, &sdata->work);
	return HRTIMER_NORESTART;
}

static void mesh_phase_setup(struct ieee80211_if_mesh *ifmsh)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&ifmsh->phase_timer, mesh_phase_has_come, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(&ifmsh->phase_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	ifmsh->phase_timer.function = mesh_phase_has_come;
#endif
}
