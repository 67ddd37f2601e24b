/* SPDX-License-Identifier: GPL-2.0-only */
/* How the vDSO reads the clock that the process has; arch/x86/um/vdso/um_vdso.c includes this file. */

#include <linux/types.h>
#include <linux/time-internal.h>
#include <hoplab/stub_clock.h>

static volatile const unsigned long clock_address = STUB_CLOCK_UNSET;

/* What the clock shows in ns after this reading; 0 where the kernel has to read it. */
static unsigned long read_clock(clockid_t clock)
{
	volatile struct stub_clock *own = (struct stub_clock *)clock_address;
	unsigned long long step = own->free ? 0 : TIMER_MULTIPLIER;
	unsigned long long now = own->now + step;

	if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
		return 0;
	/* A reading that takes no time meets no event either, not even one that is due now. */
	if (step && now >= own->limit)
		return 0;
	own->now = now;
	own->free -= !step;
	own->monotonic += step;
	own->real += step;
	return clock == CLOCK_MONOTONIC ? own->monotonic : own->real;
}
