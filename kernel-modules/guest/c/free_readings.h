/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Readings of the clock that take no time; arch/um/kernel/time.c includes this file.
 *
 * timer_read() lets a reading take time, so that a program which polls the clock gets on. But then
 * a look changes what it sees. Of two that wake at one instant, the second sleeps later for each
 * reading of the first. So readings of the process that takes samples (sockets.c) take none, nor do
 * those of the workers that write its files. They do again after many at one instant, so that
 * nobody polls without end.
 */

#define FREE_READINGS 65536

static struct mm_struct *time_travel_observer;
static unsigned long long free_readings_at;
static unsigned int free_readings_left;

void time_travel_observe(struct mm_struct *mm)
{
	time_travel_observer = mm;
}

static bool observes(void)
{
	if (current->flags & PF_WQ_WORKER)
		return true;
	return current->mm && current->mm == time_travel_observer;
}

/* How many readings of the current process are free at this instant. */
static unsigned int free_readings(void)
{
	if (!observes())
		return 0;
	if (free_readings_at != time_travel_time) {
		free_readings_at = time_travel_time;
		free_readings_left = FREE_READINGS;
	}
	return free_readings_left;
}

/* Count one; false if it takes time. */
static bool reading_is_free(void)
{
	if (!observes())
		return false;
	if (free_readings()) {
		free_readings_left--;
		return true;
	}
	/* There are none either where this one ends. */
	free_readings_at += TIMER_MULTIPLIER;
	return false;
}
