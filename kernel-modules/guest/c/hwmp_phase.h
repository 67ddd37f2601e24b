/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instant at which a station of a mesh asks again for a path, or announces a root (phase.h). Neighbours whose
 * requests collided would send each retry at one instant too, until both gave the path up.
 * net/mac80211/mesh.c includes this file.
 */

#include <hoplab/phase.h>

void mesh_work_within_tick(struct ieee80211_sub_if_data *sdata)
{
	phase_start(&sdata->u.mesh.phase_timer, 0);
}

static enum hrtimer_restart mesh_phase_has_come(struct hrtimer *timer)
{
	struct ieee80211_sub_if_data *sdata;

	sdata = container_of(timer, struct ieee80211_sub_if_data, u.mesh.phase_timer);
	wiphy_work_queue(sdata->local->hw.wiphy, &sdata->work);
	return HRTIMER_NORESTART;
}
