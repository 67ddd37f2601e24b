/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The medium in the guest's kernel: between mac80211_hwsim, the engine (Rust, linked into the
 * kernel; daemons/medium-kernel) and time travel's clock.
 */
#ifndef HOPLAB_MEDIUM_H
#define HOPLAB_MEDIUM_H

#include <linux/types.h>

#define HOPLAB_RATES 4
#define HOPLAB_UNKNOWN_RADIO (-1)

struct sk_buff;

/* A row of a frame's rate table: hwsim's index, below 0 for the table's end. */
struct hoplab_rate {
	s8 index;
	u8 tries;
	u16 flags;
};

struct hoplab_frame {
	const void *bytes;
	u64 cookie;
	u32 length;
	u32 frequency_mhz;
	s32 radio;
	/* Frames that its agreement may have outstanding; 0 without one. */
	u32 window;
	struct hoplab_rate rates[HOPLAB_RATES];
};

/* How a radio contends in a category, as a WMM element has it but for windows, which are no exponents. */
struct hoplab_contention {
	u32 aifsn;
	u32 cw_min;
	u32 cw_max;
	/* In units of 32 us. */
	u32 txop;
};

/* What became of a frame. */
struct hoplab_status {
	u64 cookie;
	/* For how long it was on the air, all tries and their RTS together. */
	u64 airtime_ns;
	/* Of an A-MPDU that ended with it: its tries. */
	u32 tries[HOPLAB_RATES];
	/* Frames of that A-MPDU, and those that were acknowledged; 0 where none ended. */
	u32 frames;
	u32 frames_acked;
	/* The receiver's host still waits for frames before this number; below 0 for none. */
	s32 gap;
	bool acked;
};

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

/* hoplab_medium.c, for mac80211_hwsim. */
bool hoplab_medium_is_on(void);
s32 hoplab_medium_radio(const u8 *address);
/* Whether the engine makes block ack agreements by itself, and hosts shall not. */
bool hoplab_medium_agrees(void);
/* Frames that agreements of the hosts' own may have outstanding; 0 where they make none. */
u32 hoplab_medium_window(void);
void hoplab_medium_send(const struct hoplab_frame *frame);
/* Whether radios are where they are tuned to, and not on channels that the document gives them. */
bool hoplab_medium_follows(void);
void hoplab_medium_tuned(s32 radio, u32 frequency_mhz);
/* From now on the radio's packets go by way of this access point; NULL for none. */
void hoplab_medium_associated(s32 radio, const u8 *point);
/* From now on the radio, a client's, contends like this in the category; mac80211 numbers them. */
void hoplab_medium_contends(s32 radio, u32 category, const struct hoplab_contention *contention);

/* mac80211_hwsim.c, for hoplab_medium.c: in a softirq. False where nobody is there for it. */
bool hwsim_medium_deliver(struct hoplab_outcome *arrived);
bool hwsim_medium_status(const struct hoplab_outcome *outcome);
/* The radios learn who they are to the engine, or that it is over. */
void hwsim_medium_attach(void);

/* hoplab_host.c */
int hoplab_host_init(void);

/* hoplab_resident.c */
int hoplab_resident_init(void);

/* A daemon that runs in this kernel, until a signal comes; whether without an error. */
bool hoplab_dsr_run(const void *document, size_t length);

/* hoplab_resident.c, for it. The process's own octets, zero at first. */
void *hoplab_resident_own(void);
/* Whether a signal has come. */
bool hoplab_resident_stopped(void);
/* A block of the receive ring at a packet socket; NULL if there is none. */
void *hoplab_resident_ring(int fd, u32 block);
void hoplab_resident_died(const char *text, u32 length);

/* The engine; all with interrupts off. */
bool hoplab_engine_start(const void *document, size_t length);
s32 hoplab_engine_radio(const u8 *address);
bool hoplab_engine_agrees(void);
u32 hoplab_engine_window(void);
void hoplab_engine_sent(u64 now, const struct hoplab_frame *frame);
bool hoplab_engine_follows(void);
void hoplab_engine_tuned(u64 now, s32 radio, u32 frequency_mhz);
void hoplab_engine_associated(u64 now, s32 radio, const u8 *point);
void hoplab_engine_contends(u64 now, s32 radio, u32 category, const struct hoplab_contention *contention);
void hoplab_engine_advance(u64 now);
u64 hoplab_engine_due(void);
void hoplab_engine_refused(bool delivery);
bool hoplab_engine_has_message(void);
bool hoplab_engine_has_failed(void);
size_t hoplab_engine_message(void *room, size_t size);
bool hoplab_engine_end(u64 now);
void hoplab_engine_crash(void);
/* Whether it was done; else why not, is its next message. */
bool hoplab_engine_change(u64 now, const void *request, size_t length);

/* hoplab_medium.c, for the engine. */
void hoplab_medium_deliver(const u8 *address, const void *bytes, u32 length, u32 frequency_mhz, u32 rate,
			   s32 signal_dbm);
void hoplab_medium_status(const u8 *address, const struct hoplab_status *status);
void hoplab_medium_died(const char *text, u32 length);

#endif
