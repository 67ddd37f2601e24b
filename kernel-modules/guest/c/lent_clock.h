/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process reads the clock without a system call. It has the clock's page while it runs, and each
 * reading moves time on as timer_read() does. Those that would meet an event are the kernel's. Half
 * of all system calls of the lab's Python only read the clock. The file that includes this one is
 * arch/um/kernel/time.c.
 */

#include <stub-data.h>

void time_travel_lend_clock(unsigned long stub_stack)
{
	struct stub_clock *clock = &((struct stub_data *)stub_stack)->clock;
	struct time_travel_event *first;
	unsigned long flags;

	if (time_travel_mode != TT_MODE_INFCPU)
		return;
	local_irq_save(flags);
	first = time_travel_first_event();
	clock->now = time_travel_time;
	clock->limit = first ? first->time : S64_MAX;
	clock->free = free_readings();
	/* Reading costs nothing where interrupts are off. */
	clock->monotonic = ktime_get_ns();
	clock->real = ktime_get_real_ns();
	local_irq_restore(flags);
}

void time_travel_take_clock(unsigned long stub_stack)
{
	struct stub_clock *clock = &((struct stub_data *)stub_stack)->clock;
	struct time_travel_event *first;
	unsigned long long now = clock->now;
	unsigned long flags;

	if (time_travel_mode != TT_MODE_INFCPU)
		return;
	local_irq_save(flags);
	/* A process may write anything there, and the host may have interrupted it. */
	first = time_travel_first_event();
	if (first)
		now = min(now, first->time);
	if (now > time_travel_time && now < clock->limit) {
		time_travel_set_time(now);
		if (observes())
			free_readings_at = now;
	}
	if (observes())
		free_readings_left = min(clock->free, free_readings_left);
	local_irq_restore(flags);
}
