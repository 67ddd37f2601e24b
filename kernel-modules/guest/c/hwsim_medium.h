/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver hwsim as the host of the medium in this kernel. Its file mac80211_hwsim.c includes
 * this one at its end, so this one sees its statics. From 7.2 on that file is
 * mac80211_hwsim_main.c.
 *
 * While the medium is on, hwsim hands it each frame, and takes statuses and arrivals from it where
 * softirqs are off. There the limit of 128 that ieee80211_tx_status_irqsafe() has does not hold.
 *
 * The rest is the tier "wifi", and acts where its hooks are (HWSIM_MEDIUM_WIFI), as the agreements
 * of hwsim_agreements.h do:
 *
 * Queues. 'medium_limit' may say how many frames of an access category the medium may have. The
 * backlog of a radio then stands in mac80211, as with a card, and FQ-CoDel, AQL and airtime
 * fairness act there. Hwsim reports the air time of each frame to mac80211. No frame is freed that
 * the medium still has.
 *
 * Channels. A radio is on the channel that mac80211 tunes it to, where the medium says so. It
 * leaves no frame behind on the channel that it came from. For a station that goes to look for
 * another access point has said before to its own one that it sleeps. A client contends as its
 * access point's WMM element says.
 */

#include <linux/version.h>
#include <hoplab/hwsim_agreements.h>

/* For how long a radio that leaves its channel waits for its last frames. */
#define HWSIM_MEDIUM_DRAIN_MS 200

#ifdef HWSIM_MEDIUM_WIFI
/* Of radios made from now on. */
static unsigned int medium_limit;
module_param(medium_limit, uint, 0644);
MODULE_PARM_DESC(medium_limit,
		 "Frames of an access category that the medium has at once, the rest wait in mac80211; 0 for all");
#else
#define medium_limit 0
#endif

/* Who the radio is to the medium, and what that means for mac80211. */
static void hwsim_medium_know(struct mac80211_hwsim_data *data)
{
	struct hwsim_medium *medium = &data->medium;
	u32 window;

	medium->radio = hoplab_medium_radio(data->addresses[0].addr);
	if (!__is_defined(HWSIM_MEDIUM_WIFI))
		return;
	if (data->channel)
		hoplab_medium_tuned(medium->radio, data->channel->center_freq);
	/* No ADDBA goes on the air, no frame waits in mac80211's reorder buffer, and statuses come for each
	 * frame. So how long A-MPDUs were is left to minstrel's estimate.
	 */
	if (medium->radio != HOPLAB_UNKNOWN_RADIO && hoplab_medium_agrees()) {
		clear_bit(IEEE80211_HW_AMPDU_AGGREGATION, data->hw->flags);
		ieee80211_hw_set(data->hw, TX_STATUS_NO_AMPDU_LEN);
	} else {
		ieee80211_hw_set(data->hw, AMPDU_AGGREGATION);
	}
	/* HE's window is larger than what mac80211 begins with. */
	window = hoplab_medium_window();
	if (medium->radio != HOPLAB_UNKNOWN_RADIO && window) {
		data->hw->max_rx_aggregation_subframes = window;
		data->hw->max_tx_aggregation_subframes = window;
	}
}

/* A radio is made; mac80211 does not know it yet. */
void hwsim_medium_radio(struct mac80211_hwsim_data *data)
{
	init_waitqueue_head(&data->medium.drained);
	data->medium.limit = medium_limit;
	if (medium_limit) {
		wiphy_ext_feature_set(data->hw->wiphy, NL80211_EXT_FEATURE_AIRTIME_FAIRNESS);
		wiphy_ext_feature_set(data->hw->wiphy, NL80211_EXT_FEATURE_AQL);
	}
	hwsim_medium_know(data);
}

void hwsim_medium_attach(void)
{
	struct mac80211_hwsim_data *data;

	spin_lock_bh(&hwsim_radio_lock);
	list_for_each_entry(data, &hwsim_radios, list)
		hwsim_medium_know(data);
	spin_unlock_bh(&hwsim_radio_lock);
}

static u32 *hwsim_medium_has(struct mac80211_hwsim_data *data, struct sk_buff *skb)
{
	u16 ac = skb_get_queue_mapping(skb);

	return &data->medium.has[min_t(u16, ac, IEEE80211_NUM_ACS - 1)];
}

/* A frame for the medium, which answers by hwsim_medium_status(). */
void hwsim_medium_tx(struct ieee80211_hw *hw, struct ieee80211_sta *sta, struct sk_buff *skb,
		     struct ieee80211_channel *channel)
{
	struct mac80211_hwsim_data *data = hw->priv;
	struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	uintptr_t cookie = atomic_inc_return(&data->pending_cookie);
	struct hoplab_frame frame = {
		.bytes = skb->data,
		.cookie = cookie,
		.length = skb->len,
		.frequency_mhz = channel->center_freq,
		.radio = data->medium.radio,
	};
	int i;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	/* Older kernels' callers have done so. */
	mac80211_hwsim_monitor_rx(hw, skb, channel);
#endif
	if (data->ps != PS_DISABLED)
		hdr->frame_control |= cpu_to_le16(IEEE80211_FCTL_PM);
	frame.window = hwsim_medium_window(sta, skb);
	for (i = 0; i < IEEE80211_TX_MAX_RATES; i++) {
		struct ieee80211_tx_rate *rate = &info->status.rates[i];

		frame.rates[i].index = rate->idx;
		frame.rates[i].tries = rate->count;
		frame.rates[i].flags = trans_tx_rate_flags_ieee2hwsim(rate);
	}
	info->rate_driver_data[0] = (void *)cookie;
	data->tx_pkts++;
	data->tx_bytes += skb->len;
	skb_queue_tail(&data->pending, skb);
	++*hwsim_medium_has(data, skb);
	hoplab_medium_send(&frame);
	/* No status will come for the frame of a radio that it does not know. */
	if (data->medium.radio == HOPLAB_UNKNOWN_RADIO) {
		skb_unlink(skb, &data->pending);
		--*hwsim_medium_has(data, skb);
		ieee80211_free_txskb(hw, skb);
	}
}

/* Give the medium what it may have of a category. It takes one packet a time and asks mac80211
 * again whose turn it is, as a card does for each aggregate. Air time that was reported meanwhile,
 * and AQL's estimate of what is pending, count at the next packet already.
 */
static void hwsim_medium_fill(struct ieee80211_hw *hw, u8 ac)
{
	struct mac80211_hwsim_data *data = hw->priv;
	struct hwsim_medium *medium = &data->medium;
	struct ieee80211_txq *txq;
	bool sent = true;

	while (sent && medium->has[ac] < medium->limit) {
		sent = false;
		ieee80211_txq_schedule_start(hw, ac);
		while (medium->has[ac] < medium->limit && (txq = ieee80211_next_txq(hw, ac))) {
			struct ieee80211_tx_control control = { .sta = txq->sta };
			struct sk_buff *skb = ieee80211_tx_dequeue(hw, txq);

			if (skb) {
				mac80211_hwsim_tx(hw, &control, skb);
				sent = true;
			}
			ieee80211_return_txq(hw, txq, false);
		}
		ieee80211_txq_schedule_end(hw, ac);
	}
}

void hwsim_medium_wake(struct ieee80211_hw *hw, struct ieee80211_txq *txq)
{
	struct mac80211_hwsim_data *data = hw->priv;

	if (data->medium.limit && hoplab_medium_is_on())
		hwsim_medium_fill(hw, txq->ac);
	else
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
		ieee80211_hwsim_wake_tx_queue(hw, txq);
#else
		ieee80211_handle_wake_tx_queue(hw, txq);
#endif
}

/* The radio is down, and its frames are freed. */
void hwsim_medium_stopped(struct mac80211_hwsim_data *data)
{
	memset(data->medium.has, 0, sizeof(data->medium.has));
}

/* What waits in the medium would go on the air of the channel that comes next. */
void hwsim_medium_leaves(struct mac80211_hwsim_data *data, struct ieee80211_channel *next)
{
	if (data->channel && next != data->channel && hoplab_medium_follows())
		wait_event_timeout(data->medium.drained, skb_queue_empty(&data->pending),
				   msecs_to_jiffies(HWSIM_MEDIUM_DRAIN_MS));
}

void hwsim_medium_tuned(struct mac80211_hwsim_data *data, struct ieee80211_channel *channel)
{
	if (channel)
		hoplab_medium_tuned(data->medium.radio, channel->center_freq);
}

void hwsim_medium_associated(struct mac80211_hwsim_data *data, struct ieee80211_vif *vif)
{
	if (vif->type == NL80211_IFTYPE_STATION)
		hoplab_medium_associated(data->medium.radio, vif->cfg.assoc ? vif->cfg.ap_addr : NULL);
}

/* A client's parameters are its access point's. Elsewhere they are Linux's own defaults. */
void hwsim_medium_contends(struct mac80211_hwsim_data *data, struct ieee80211_vif *vif, u16 queue,
			   const struct ieee80211_tx_queue_params *params)
{
	const struct hoplab_contention contention = {
		.aifsn = params->aifs,
		.cw_min = params->cw_min,
		.cw_max = params->cw_max,
		.txop = params->txop,
	};

	if (vif->type == NL80211_IFTYPE_STATION)
		hoplab_medium_contends(data->medium.radio, queue, &contention);
}

/* The radio of its first address, which the hash knows by the second. */
static struct mac80211_hwsim_data *hwsim_medium_find(const u8 *address)
{
	struct mac80211_hwsim_data *data = get_hwsim_data_ref_from_addr(address);
	u8 second[ETH_ALEN];

	if (data)
		return data;
	ether_addr_copy(second, address);
	second[0] |= 0x40;
	return get_hwsim_data_ref_from_addr(second);
}

/* What the frame took of the channel, for airtime fairness and the station's counters. */
static void hwsim_medium_airtime(struct mac80211_hwsim_data *data, struct sk_buff *skb,
				 u64 airtime_ns)
{
	struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;
	struct ieee80211_sta *sta;

	if (!airtime_ns || !ieee80211_is_data(hdr->frame_control) ||
	    is_multicast_ether_addr(hdr->addr1))
		return;
	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(data->hw, hdr->addr1, hdr->addr2);
	if (sta)
		ieee80211_sta_register_airtime(sta, ieee80211_is_data_qos(hdr->frame_control) ?
						    ieee80211_get_tid(hdr) : 0,
					       DIV_ROUND_CLOSEST_ULL(airtime_ns, NSEC_PER_USEC), 0);
	rcu_read_unlock();
}

/* Take the frame of a status from those that the medium has; NULL if it is gone. */
static struct sk_buff *hwsim_medium_take(struct mac80211_hwsim_data *data, u64 cookie)
{
	struct sk_buff *skb, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&data->pending.lock, flags);
	skb_queue_walk(&data->pending, skb) {
		if ((uintptr_t)IEEE80211_SKB_CB(skb)->rate_driver_data[0] == cookie) {
			__skb_unlink(skb, &data->pending);
			found = skb;
			break;
		}
	}
	spin_unlock_irqrestore(&data->pending.lock, flags);
	return found;
}

/* As hwsim_tx_info_frame_received_nl(). */
bool hwsim_medium_status(const struct hoplab_outcome *outcome)
{
	struct mac80211_hwsim_data *data = hwsim_medium_find(outcome->address);
	const struct hoplab_status *told = &outcome->status;
	struct ieee80211_tx_rate rates[IEEE80211_TX_MAX_RATES];
	struct ieee80211_tx_info *info;
	struct sk_buff *skb;
	int i, used = 0;
	u16 ac;

	skb = data ? hwsim_medium_take(data, told->cookie) : NULL;
	if (!skb)
		return false;
	ac = min_t(u16, skb_get_queue_mapping(skb), IEEE80211_NUM_ACS - 1);
	--*hwsim_medium_has(data, skb);
	if (data->medium.limit)
		hwsim_medium_airtime(data, skb, told->airtime_ns);
	info = IEEE80211_SKB_CB(skb);
	memcpy(rates, info->status.rates, sizeof(rates));
	ieee80211_tx_info_clear_status(info);
	for (i = 0; i < IEEE80211_TX_MAX_RATES; i++)
		info->status.rates[i].idx = -1;
	for (i = 0; i < IEEE80211_TX_MAX_RATES && i < HOPLAB_RATES; i++) {
		if (!told->tries[i])
			continue;
		info->status.rates[used].idx = rates[i].idx;
		info->status.rates[used].flags = rates[i].flags;
		info->status.rates[used].count = min(told->tries[i], 255u);
		used++;
	}
	info->status.ack_signal = -50;
	if (info->flags & IEEE80211_TX_CTL_NO_ACK) {
		info->flags |= IEEE80211_TX_STAT_NOACK_TRANSMITTED;
	} else if (told->acked) {
		struct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;

		if (skb->len >= 16)
			mac80211_hwsim_monitor_ack(data->channel, hdr->addr2);
		info->flags |= IEEE80211_TX_STAT_ACK;
	}
	if (__is_defined(HWSIM_MEDIUM_WIFI) && hoplab_medium_window())
		hwsim_medium_agreed(data, skb, told);
	ieee80211_tx_status_skb(data->hw, skb);
	if (skb_queue_empty(&data->pending))
		wake_up(&data->medium.drained);
	/* There is room for another one, and AQL may have waited for this one's. */
	if (data->medium.limit && data->started && hoplab_medium_is_on()) {
		rcu_read_lock();
		hwsim_medium_fill(data->hw, ac);
		rcu_read_unlock();
	}
	return true;
}

/* Octets that a frame has at least. */
static size_t hwsim_medium_least(__le16 frame_control)
{
	if (ieee80211_is_back_req(frame_control))
		return sizeof(struct ieee80211_bar);
	if (ieee80211_is_pspoll(frame_control))
		return sizeof(struct ieee80211_pspoll);
	return sizeof(struct ieee80211_hdr_3addr);
}

/* As hwsim_cloned_frame_received_nl(); the frame is taken in any case. */
bool hwsim_medium_deliver(struct hoplab_outcome *arrived)
{
	struct mac80211_hwsim_data *data = hwsim_medium_find(arrived->address);
	struct ieee80211_rx_status rx_status = {
		.freq = arrived->frequency_mhz,
		.rate_idx = arrived->rate,
		.signal = arrived->signal_dbm,
	};
	struct ieee80211_hdr *hdr = (void *)arrived->skb->data;
	struct tx_iter_data iter_data = {};
	struct ieee80211_channel *channel;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	iter_data.hw = data ? data->hw : NULL;
	iter_data.rx_status = &rx_status;
#endif
	/* mac80211 takes no frames while the radio is down; nobody can be in
	 * mac80211_hwsim_stop() here, on the one processor and in a softirq.
	 */
	if (!data || !data->started || (data->idle && !data->tmp_chan))
		goto gone;
	channel = data->use_chanctx ? data->tmp_chan : data->channel;
	iter_data.channel = ieee80211_get_channel(data->hw->wiphy,
						  arrived->frequency_mhz);
	if (!iter_data.channel || arrived->skb->len < hwsim_medium_least(hdr->frame_control))
		goto gone;
	rx_status.band = iter_data.channel->band;
	if (!hwsim_chans_compat(iter_data.channel, channel)) {
		ieee80211_iterate_active_interfaces_atomic(data->hw,
							   IEEE80211_IFACE_ITER_NORMAL,
							   mac80211_hwsim_tx_iter,
							   &iter_data);
		if (!iter_data.receive)
			goto gone;
	}
	if (rx_status.rate_idx >= data->hw->wiphy->bands[rx_status.band]->n_bitrates)
		goto gone;
	if (ieee80211_is_beacon(hdr->frame_control) ||
	    ieee80211_is_probe_resp(hdr->frame_control))
		rx_status.boottime_ns = ktime_get_boottime_ns();
	if (is_multicast_ether_addr(hdr->addr1) && hoplab_frames_all_foreign(data->hw->wiphy))
		rx_status.flag |= RX_FLAG_SKIP_MONITOR;
	mac80211_hwsim_rx(data, &rx_status, arrived->skb);
	return true;
gone:
	dev_kfree_skb_any(arrived->skb);
	return false;
}

/* The medium in this kernel hands over where softirqs are off. */
void hwsim_medium_rx(struct ieee80211_hw *hw, struct sk_buff *skb)
{
	if (hoplab_medium_is_on())
		ieee80211_rx(hw, skb);
	else
		ieee80211_rx_irqsafe(hw, skb);
}
