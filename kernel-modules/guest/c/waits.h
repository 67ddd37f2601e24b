/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ppoll(2) for a resident program, which waits at the same descriptors again and again.
 */
#ifndef HOPLAB_WAITS_H
#define HOPLAB_WAITS_H

#include <linux/poll.h>
#include <linux/signal_types.h>
#include <linux/time64.h>

/* Where a program has waited. It starts as zeros. */
struct waits {
	struct watched *watched;
	/* Since the wait began, something has come. */
	bool woken;
	bool asleep;
	/* A descriptor has several queues, so the program waits as a process. */
	bool as_process;
};

/* As the system call, but for pointers, which are of the kernel's memory. -EOPNOTSUPP leaves all to it. */
long hoplab_waits_ppoll(struct waits *waits, struct pollfd *fds, unsigned int count,
			struct __kernel_timespec *longest, const sigset_t *mask, size_t mask_size);
/* A descriptor is about to be closed. */
void hoplab_waits_forget(struct waits *waits, int fd);
/* The program is over. */
void hoplab_waits_end(struct waits *waits);

#endif
