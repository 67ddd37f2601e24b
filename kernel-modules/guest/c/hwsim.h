/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mac80211_hwsim keeps and calls for the medium in this kernel. Its own functions of this are in
 * hwsim_medium.h, which it includes at its end.
 */
#ifndef HOPLAB_HWSIM_H
#define HOPLAB_HWSIM_H

#include <linux/ieee80211.h>
#include <linux/wait.h>
#include <net/mac80211.h>
#include <hoplab/medium.h>

struct mac80211_hwsim_data;

/* Of a radio. */
struct hwsim_medium {
	/* who this is to the medium, while it is on */
	s32 radio;
	/* frames of a category that the medium may have at once; 0 for all that there are */
	u32 limit;
	u32 has[IEEE80211_NUM_ACS];
	/* it has every frame back from the medium */
	wait_queue_head_t drained;
};

/* Of a station's entry: agreements with it as the medium knows them. */
struct hwsim_medium_sta {
	struct ieee80211_vif *vif;
	/* frames that may be outstanding, by TID */
	u16 window[IEEE80211_NUM_TIDS];
	/* TIDs whose agreement begins or ends when the medium has no frame of theirs any more */
	unsigned long starts;
	unsigned long stops;
};

/* Tier medium. */
void hwsim_medium_radio(struct mac80211_hwsim_data *data);
void hwsim_medium_tx(struct ieee80211_hw *hw, struct ieee80211_sta *sta, struct sk_buff *skb,
		     struct ieee80211_channel *channel);
void hwsim_medium_rx(struct ieee80211_hw *hw, struct sk_buff *skb);

/* Tier wifi. */
void hwsim_medium_wake(struct ieee80211_hw *hw, struct ieee80211_txq *txq);
void hwsim_medium_stopped(struct mac80211_hwsim_data *data);
void hwsim_medium_leaves(struct mac80211_hwsim_data *data, struct ieee80211_channel *next);
void hwsim_medium_tuned(struct mac80211_hwsim_data *data, struct ieee80211_channel *channel);
void hwsim_medium_associated(struct mac80211_hwsim_data *data, struct ieee80211_vif *vif);
void hwsim_medium_contends(struct mac80211_hwsim_data *data, struct ieee80211_vif *vif, u16 queue,
			   const struct ieee80211_tx_queue_params *params);
bool hwsim_medium_agrees(enum ieee80211_ampdu_mlme_action action);
int hwsim_medium_agree(struct mac80211_hwsim_data *data, struct ieee80211_vif *vif,
		       struct ieee80211_ampdu_params *params);

#endif
