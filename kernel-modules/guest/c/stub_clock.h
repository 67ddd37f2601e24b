/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock, which is the process's while it runs (lent_clock.h), in the pages that it shares with the kernel. */
#ifndef HOPLAB_STUB_CLOCK_H
#define HOPLAB_STUB_CLOCK_H

/* In the vDSO's place for the clock's address, before it is written there. */
#define STUB_CLOCK_UNSET 0x6b636f6c636d7600UL

struct stub_clock {
	unsigned long long now;
	/* A reading that would come to this time or beyond is the kernel's. */
	unsigned long long limit;
	/* What the clocks show now. */
	unsigned long long monotonic, real;
	/* So many readings take no time. */
	unsigned long long free;
};

#endif
