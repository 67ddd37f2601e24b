/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What C and Rust share in the guest's kernel, and the only declaration of it. From this file
 * 'python -m hoplab.front.pages.abi' writes the Rust side, daemons/abi/src/lib.rs.
 */
#ifndef HOPLAB_ABI_H
#define HOPLAB_ABI_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

/* Rows of a frame's rate table. */
#define HOPLAB_RATES 4
/* A radio that the document does not name. */
#define HOPLAB_UNKNOWN_RADIO (-1)
/* Octets that a resident program has of its own. */
#define HOPLAB_OWN_OCTETS 64
/* DSR's protocol of IP (RFC 4728 13). */
#define HOPLAB_PROTOCOL_DSR 48

/* A row of a frame's rate table. */
struct hoplab_rate {
	/* hwsim's index; below 0 for the table's end. */
	s8 index;
	u8 tries;
	u16 flags;
};
static_assert(sizeof(struct hoplab_rate) == 4);

/* A frame that a radio sends. */
struct hoplab_frame {
	const u8 *bytes;
	u64 cookie;
	u32 length;
	u32 frequency_mhz;
	/* Below 0 for one that the document does not name. */
	s32 radio;
	/* Frames that its agreement may have outstanding; 0 without one. */
	u32 window;
	struct hoplab_rate rates[HOPLAB_RATES];
};
static_assert(sizeof(struct hoplab_frame) == 48);

/* How a radio contends in a category, as a WMM element has it but for windows, which are no exponents. */
struct hoplab_contention {
	u32 aifsn;
	u32 cw_min;
	u32 cw_max;
	/* In units of 32 us. */
	u32 txop;
};
static_assert(sizeof(struct hoplab_contention) == 16);

/* What became of a frame. */
struct hoplab_status {
	u64 cookie;
	/* For how long it was on the air, all tries and their RTS together. */
	u64 airtime_ns;
	/* Of an A-MPDU that ended with it: its tries. */
	u32 tries[HOPLAB_RATES];
	/* Frames of that A-MPDU; 0 where none ended. */
	u32 frames;
	/* Those that were acknowledged. */
	u32 frames_acked;
	/* The receiver's host still waits for frames before this number; below 0 for none. */
	s32 gap;
	bool acked;
};
static_assert(sizeof(struct hoplab_status) == 48);

/*
 * In Rust: the engine (daemons/medium-kernel); all with interrupts off, and times in ns.
 */

/* Begin with a document of so many octets; whether it can be used. */
bool hoplab_engine_start(const u8 *document, size_t length);
/* The radio of an address. */
s32 hoplab_engine_radio(const u8 address[6]);
/* Whether the engine makes block ack agreements by itself, and hosts must not. */
bool hoplab_engine_agrees(void);
/* Frames that agreements of the hosts' own may have outstanding; 0 where they make none. */
u32 hoplab_engine_window(void);
/* A radio sends a frame. */
void hoplab_engine_sent(u64 now, const struct hoplab_frame *frame);
/* Whether radios are where they are tuned to, and not on channels that the document gives them. */
bool hoplab_engine_follows(void);
/* From now on the radio is on the channel with this centre. */
void hoplab_engine_tuned(u64 now, s32 radio, u32 frequency_mhz);
/* From now on the radio's packets go by way of the access point of this address; NULL for none. */
void hoplab_engine_associated(u64 now, s32 radio, const u8 point[6]);
/* From now on the radio, a client's, contends like this in the category; mac80211 numbers them. */
void hoplab_engine_contends(u64 now, s32 radio, u32 category, const struct hoplab_contention *contention);
/* Time has come to this instant. */
void hoplab_engine_advance(u64 now);
/* When it is to be called next; all ones for never. */
u64 hoplab_engine_due(void);
/* A delivery, or else a status, found nobody. */
void hoplab_engine_refused(bool delivery);
bool hoplab_engine_has_message(void);
bool hoplab_engine_has_failed(void);
/* Its first message, of which as many octets are taken as there is room for; returns their number. */
size_t hoplab_engine_message(u8 *room, size_t size);
/* Write the records; whether they are complete. */
bool hoplab_engine_end(u64 now);
/* A defect on demand. */
void hoplab_engine_crash(void);
/* Do what a request asks for; whether it was done, else why not, is its next message. */
bool hoplab_engine_change(u64 now, const u8 *request, size_t length);

/*
 * In Rust: the DSR daemon (daemons/dsr-kernel).
 */

/* Route by a document of so many octets, until a signal comes; whether without an error. */
bool hoplab_dsr_run(const u8 *document, size_t length);

/*
 * In C: medium.c, for the engine.
 */

/* A frame for the radio of an address, with hwsim's index of its rate. */
void hoplab_medium_deliver(const u8 address[6], const u8 *bytes, u32 length, u32 frequency_mhz, u32 rate,
			   s32 signal_dbm);
/* What became of a frame of the radio of an address. */
void hoplab_medium_status(const u8 address[6], const struct hoplab_status *status);
/* End the guest with a message of so many octets. */
void __noreturn hoplab_medium_died(const u8 *text, u32 length);

/*
 * In C: resident.c, for a resident program.
 */

/* The process's own octets, zero at first and aligned for words of 64 bits. */
u64 *hoplab_resident_own(void);
/* Whether a signal has come. */
bool hoplab_resident_stopped(void);
/* Note SIGTERM and SIGINT, and only while the program waits if so. A process does that itself. */
void hoplab_resident_catch(bool in_wait);
/* Where the frames of a packet socket wait, of which it keeps as many; NULL for another descriptor. The
 * filter of a foreign one lets through unicast frames between others, and nothing else. */
u8 *hoplab_resident_frames(s32 fd, u32 most, bool foreign);
/* DSR's packets that come to the socket's interface are for the program, and not for IP. */
void hoplab_resident_serves_dsr(const u8 *frames, s32 interface);
/* The first of them, its octets and the time at which it came, in ns; NULL if none waits. */
u8 *hoplab_resident_frame(const u8 *frames, u32 *length, u64 *stamp);
/* The first one has been read. */
void hoplab_resident_taken(u8 *frames);
/* End the guest with a message of so many octets. */
void __noreturn hoplab_resident_died(const u8 *text, u32 length);

#endif
