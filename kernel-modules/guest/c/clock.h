/* SPDX-License-Identifier: GPL-2.0-only */
/* Virtual time, as the rest of this kernel asks for it (virtual_time.h). In ns since the guest's start. */
#ifndef HOPLAB_CLOCK_H
#define HOPLAB_CLOCK_H

struct mm_struct;
struct time_travel_event;

/* At this nanosecond, or now where that is past. */
void time_travel_add_event_at(struct time_travel_event *e, unsigned long long time);
unsigned long long time_travel_now(void);

/* What a program sees that reads the processor's counter. */
unsigned long long time_travel_counter(void);

/* Readings of this process take no time (free_readings.h); NULL is nobody. */
void time_travel_observe(struct mm_struct *mm);

/* Before and after a process runs, whose pages of the stub are at this address. */
void time_travel_lend_clock(unsigned long stub_stack);
void time_travel_take_clock(unsigned long stub_stack);

#endif
