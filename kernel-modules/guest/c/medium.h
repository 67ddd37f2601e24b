/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The medium in the guest's kernel: between mac80211_hwsim, the engine (Rust, linked into the
 * kernel; daemons/medium-kernel) and time travel's clock.
 */
#ifndef HOPLAB_MEDIUM_H
#define HOPLAB_MEDIUM_H

#include <hoplab/abi.h>

struct sk_buff;
struct wiphy;

/* What a radio's kernel learns: a frame that arrived, or what became of one that it sent. */
struct hoplab_outcome {
	u8 address[6];
	/* The frame that arrived; NULL for a status. */
	struct sk_buff *skb;
	u32 frequency_mhz;
	u32 rate;
	s32 signal_dbm;
	struct hoplab_status status;
};

/* medium.c, for mac80211_hwsim; as the engine's functions of these names (abi.h). */
bool hoplab_medium_is_on(void);
s32 hoplab_medium_radio(const u8 *address);
bool hoplab_medium_agrees(void);
u32 hoplab_medium_window(void);
void hoplab_medium_send(const struct hoplab_frame *frame);
bool hoplab_medium_follows(void);
void hoplab_medium_tuned(s32 radio, u32 frequency_mhz);
void hoplab_medium_associated(s32 radio, const u8 *point);
void hoplab_medium_contends(s32 radio, u32 category, const struct hoplab_contention *contention);

/* hwsim_medium.h, for medium.c: in a softirq. False where nobody is there for it. */
bool hwsim_medium_deliver(struct hoplab_outcome *arrived);
bool hwsim_medium_status(const struct hoplab_outcome *outcome);
/* The radios learn who they are to the engine, or that it is over. */
void hwsim_medium_attach(void);

/* host.c */
int hoplab_host_init(void);
/* copies.c, for host.c; the other end of the line is the host's. */
long hoplab_stand_by(int line);

/* resident.c */
int hoplab_resident_init(void);

/* frames.c: from the radio's monitor interfaces only frames between others are wanted. */
bool hoplab_frames_all_foreign(struct wiphy *wiphy);

#endif
