// SPDX-License-Identifier: GPL-2.0-only
/*
 * ppoll(2) for a resident program (resident.c).
 *
 * At each wait a process asks all of its descriptors, and hangs itself into the queues of all. The
 * kernel keeps nothing from one wait to the next. A daemon waits at the same five for each frame. Of a
 * thousand daemons none finds its own in the processor's cache. So a resident program stays in those
 * queues. A wait then asks only descriptors at which something has moved, as epoll(7) does.
 *
 * What the program finds, when it wakes, and what it reads of the clock are as in fs/select.c.
 */

#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/time.h>
#include <linux/wait.h>
#include <hoplab/waits.h>

/* Who waits at more does so as a process. */
#define MOST 8

/* A descriptor at which the program has waited. */
struct watched {
	struct wait_queue_entry entry;
	/* The queue that the entry is in; NULL for a file that has none. */
	wait_queue_head_t *at;
	struct waits *waits;
	struct file *file;
	poll_table table;
	int fd;
	/* Something may have come since the program found nothing there. */
	bool moved;
};

static int watched_wakes(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct watched *watched = container_of(entry, struct watched, entry);
	struct waits *waits = watched->waits;

	if (key && !(key_to_poll(key) & watched->table._key))
		return 0;
	watched->moved = true;
	waits->woken = true;
	return waits->asleep ? default_wake_function(entry, mode, flags, key) : 0;
}

static void watched_queue(struct file *file, wait_queue_head_t *at, poll_table *table)
{
	struct watched *watched = container_of(table, struct watched, table);

	if (watched->at) {
		watched->waits->as_process = true;
		return;
	}
	watched->at = at;
	add_wait_queue(at, &watched->entry);
}

static void watched_forget(struct watched *watched)
{
	if (!watched->file)
		return;
	if (watched->at)
		remove_wait_queue(watched->at, &watched->entry);
	fput(watched->file);
	*watched = (struct watched){ .waits = watched->waits };
}

/* Whether there is anything of what the program wants there, which it then finds in its own record. */
static bool watched_look(struct watched *watched, struct pollfd *wanted)
{
	__poll_t events = demangle_poll(wanted->events) | EPOLLERR | EPOLLHUP;
	__poll_t found;

	wanted->revents = 0;
	if (watched->file && watched->fd == wanted->fd) {
		if (watched->table._key == events && !watched->moved)
			return false;
	} else {
		watched_forget(watched);
		if (wanted->fd < 0)
			return false;
		watched->file = fget(wanted->fd);
		if (!watched->file) {
			wanted->revents = POLLNVAL;
			return true;
		}
		watched->fd = wanted->fd;
		init_waitqueue_func_entry(&watched->entry, watched_wakes);
		watched->entry.private = current;
		init_poll_funcptr(&watched->table, watched_queue);
	}
	watched->table._key = events;
	watched->moved = false;
	found = vfs_poll(watched->file, &watched->table) & events;
	watched->table._qproc = NULL;
	/* It is there until the program has taken it, of which nobody tells. */
	if (found || !watched->at)
		watched->moved = true;
	wanted->revents = mangle_poll(found);
	return found;
}

static int waits_look(struct waits *waits, struct pollfd *fds, unsigned int count)
{
	int i, found = 0;

	for (i = 0; i < count; i++)
		found += watched_look(&waits->watched[i], &fds[i]);
	return found;
}

/* Returns whether the time is over. */
static bool waits_sleep(struct waits *waits, ktime_t *end, u64 slack)
{
	bool is_over = false;

	set_current_state(TASK_INTERRUPTIBLE);
	waits->asleep = true;
	if (!waits->woken)
		is_over = !schedule_hrtimeout_range(end, slack, HRTIMER_MODE_ABS);
	waits->asleep = false;
	__set_current_state(TASK_RUNNING);
	waits->woken = false;
	return is_over;
}

static long waits_until(struct waits *waits, struct pollfd *fds, unsigned int count,
			struct timespec64 *end_time)
{
	bool is_over = !end_time->tv_sec && !end_time->tv_nsec;
	u64 slack = is_over ? 0 : select_estimate_accuracy(end_time);
	ktime_t end = timespec64_to_ktime(*end_time);
	int found;

	waits->woken = false;
	while (!(found = waits_look(waits, fds, count))) {
		if (waits->as_process)
			return -EOPNOTSUPP;
		if (signal_pending(current))
			return -ERESTARTNOHAND;
		if (is_over)
			break;
		is_over = waits_sleep(waits, &end, slack);
	}
	return found;
}

static bool waits_can(struct waits *waits, unsigned int count)
{
	int i;

	if (count > MOST || waits->as_process)
		return false;
	if (waits->watched)
		return true;
	waits->watched = kcalloc(MOST, sizeof(*waits->watched), GFP_KERNEL);
	for (i = 0; waits->watched && i < MOST; i++)
		waits->watched[i].waits = waits;
	return waits->watched;
}

long hoplab_waits_ppoll(struct waits *waits, struct pollfd *fds, unsigned int count,
			struct __kernel_timespec *longest, const sigset_t *mask, size_t mask_size)
{
	struct timespec64 end_time, now;
	long result;

	if (!longest || !waits_can(waits, count))
		return -EOPNOTSUPP;
	if (poll_select_set_timeout(&end_time, longest->tv_sec, longest->tv_nsec))
		return -EINVAL;
	result = set_user_sigmask((const sigset_t __user *)mask, mask_size);
	if (result)
		return result;
	result = waits_until(waits, fds, count, &end_time);
	restore_saved_sigmask_unless(result == -ERESTARTNOHAND);
	if (result == -EOPNOTSUPP || (!end_time.tv_sec && !end_time.tv_nsec))
		return result;
	ktime_get_ts64(&now);
	now = timespec64_sub(end_time, now);
	if (now.tv_sec < 0)
		now = (struct timespec64){};
	longest->tv_sec = now.tv_sec;
	longest->tv_nsec = now.tv_nsec;
	return result;
}

void hoplab_waits_forget(struct waits *waits, int fd)
{
	int i;

	for (i = 0; waits->watched && i < MOST; i++)
		if (waits->watched[i].file && waits->watched[i].fd == fd)
			watched_forget(&waits->watched[i]);
}

void hoplab_waits_end(struct waits *waits)
{
	int i;

	for (i = 0; waits->watched && i < MOST; i++)
		watched_forget(&waits->watched[i]);
	kfree(waits->watched);
	waits->watched = NULL;
}
