/* SPDX-License-Identifier: GPL-2.0-only */
/* What arch/um/kernel/time.c tells of its time travel; it includes this file, which sees its statics. */

#include <hoplab/clock.h>

void time_travel_add_event_at(struct time_travel_event *e, unsigned long long time)
{
	time_travel_add_event(e, max(time, time_travel_time));
}

unsigned long long time_travel_now(void)
{
	return time_travel_time;
}

/* Reading costs what reading a clock does, so nobody waits for it without end. */
unsigned long long time_travel_counter(void)
{
	return timer_read(NULL) * TIMER_MULTIPLIER;
}
