/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block ack agreements of mac80211_hwsim as the host of the medium in this kernel (hwsim_medium.h).
 *
 * Where the medium makes block ack agreements by itself, it puts A-MPDUs together and reorders, and
 * mac80211 makes none. Otherwise a protected ADDBA request (WPA3), which the medium cannot read,
 * would bring mac80211's reorder buffer in between. That buffer waits 100 ms for a frame that was
 * given up. Where the medium says so, mac80211 makes the agreements: it numbers the frames and
 * reorders at the receiver. Then hwsim is the card that puts the A-MPDUs together. A status then
 * tells of a whole A-MPDU, as a card's does. An abandoned frame brings a request (BlockAckReq),
 * which moves the receiver on.
 */

/* Ask for an agreement as minstrel does (ieee80211_aggr_check()). It asks no station without HT, as
 * those at 6 GHz are.
 */
static void hwsim_medium_ask(struct ieee80211_sta *sta, struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;

	if (sta->deflink.ht_cap.ht_supported || !sta->deflink.he_cap.has_he ||
	    !ieee80211_is_data_qos(hdr->frame_control) ||
	    ieee80211_is_qos_nullfunc(hdr->frame_control) ||
	    skb_get_queue_mapping(skb) == IEEE80211_AC_VO ||
	    skb->protocol == cpu_to_be16(ETH_P_PAE))
		return;
	ieee80211_start_tx_ba_session(sta, ieee80211_get_tid(hdr), 0);
}

/* Frames that the agreement of this one may have outstanding; asks for one where there is none. */
static u32 hwsim_medium_window(struct ieee80211_sta *sta, struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;

	if (!__is_defined(HWSIM_MEDIUM_WIFI) || !sta)
		return 0;
	if (IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_AMPDU) {
		struct hwsim_sta_priv *sp = (void *)sta->drv_priv;

		return sp->medium.window[ieee80211_get_tid(hdr)];
	}
	if (hoplab_medium_window())
		hwsim_medium_ask(sta, skb);
	return 0;
}

/* Whether the medium still has a frame of this receiver and TID. */
static bool hwsim_medium_has_of(struct mac80211_hwsim_data *data, const u8 *address, u16 tid)
{
	struct sk_buff *skb;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&data->pending.lock, flags);
	skb_queue_walk(&data->pending, skb) {
		struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;

		if (ieee80211_is_data_qos(hdr->frame_control) &&
		    ether_addr_equal(hdr->addr1, address) && ieee80211_get_tid(hdr) == tid) {
			found = true;
			break;
		}
	}
	spin_unlock_irqrestore(&data->pending.lock, flags);
	return found;
}

/* Whether it is hwsim_medium_agree() that carries out what mac80211 asks its card for. */
bool hwsim_medium_agrees(enum ieee80211_ampdu_mlme_action action)
{
	return action != IEEE80211_AMPDU_RX_START && action != IEEE80211_AMPDU_RX_STOP &&
	       hoplab_medium_window();
}

/* An agreement begins, or ends, behind the TID's last frame of before, as a card's does. So the
 * receiver, which takes no frame from before its window, has each in its order.
 */
int hwsim_medium_agree(struct mac80211_hwsim_data *data, struct ieee80211_vif *vif,
		       struct ieee80211_ampdu_params *params)
{
	struct hwsim_sta_priv *sp = (void *)params->sta->drv_priv;
	struct hwsim_medium_sta *medium = &sp->medium;
	u16 tid = params->tid;
	int result = 0;

	local_bh_disable();
	medium->vif = vif;
	switch (params->action) {
	case IEEE80211_AMPDU_TX_START:
		if (hwsim_medium_has_of(data, params->sta->addr, tid))
			medium->starts |= BIT(tid);
		else
			result = IEEE80211_AMPDU_TX_START_IMMEDIATE;
		break;
	case IEEE80211_AMPDU_TX_OPERATIONAL:
		medium->window[tid] = params->buf_size;
		break;
	case IEEE80211_AMPDU_TX_STOP_CONT:
		medium->window[tid] = 0;
		medium->starts &= ~BIT(tid);
		if (hwsim_medium_has_of(data, params->sta->addr, tid))
			medium->stops |= BIT(tid);
		else
			ieee80211_stop_tx_ba_cb_irqsafe(vif, params->sta->addr, tid);
		break;
	default: /* the station is gone */
		medium->window[tid] = 0;
		medium->starts &= ~BIT(tid);
		medium->stops &= ~BIT(tid);
		ieee80211_stop_tx_ba_cb_irqsafe(vif, params->sta->addr, tid);
	}
	local_bh_enable();
	return result;
}

/* What a frame that the medium is done with says of its agreement. */
static void hwsim_medium_agreed(struct mac80211_hwsim_data *data, struct sk_buff *skb,
				const struct hoplab_status *told)
{
	struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct hwsim_medium_sta *medium;
	struct ieee80211_sta *sta;
	u16 tid;

	if (!ieee80211_is_data_qos(hdr->frame_control) || is_multicast_ether_addr(hdr->addr1))
		return;
	tid = ieee80211_get_tid(hdr);
	if (info->flags & IEEE80211_TX_CTL_AMPDU && told->frames) {
		info->flags |= IEEE80211_TX_STAT_AMPDU;
		info->status.ampdu_len = min(told->frames, 255u);
		info->status.ampdu_ack_len = min(told->frames_acked, 255u);
	}
	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(data->hw, hdr->addr1, hdr->addr2);
	if (!sta)
		goto out;
	medium = &((struct hwsim_sta_priv *)sta->drv_priv)->medium;
	/* Not IEEE80211_TX_STAT_AMPDU_NO_BACK: the gap may end behind another frame than this one. */
	if (told->gap >= 0 && medium->window[tid])
		ieee80211_send_bar(medium->vif, sta->addr, tid, told->gap << 4);
	if (!((medium->starts | medium->stops) & BIT(tid)) ||
	    hwsim_medium_has_of(data, sta->addr, tid))
		goto out;
	if (medium->starts & BIT(tid))
		ieee80211_start_tx_ba_cb_irqsafe(medium->vif, sta->addr, tid);
	if (medium->stops & BIT(tid))
		ieee80211_stop_tx_ba_cb_irqsafe(medium->vif, sta->addr, tid);
	medium->starts &= ~BIT(tid);
	medium->stops &= ~BIT(tid);
out:
	rcu_read_unlock();
}
