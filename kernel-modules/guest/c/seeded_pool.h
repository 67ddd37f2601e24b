/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's generator in a guest with a seed; drivers/char/random.c includes this file.
 *
 * Interrupts, devices, the command line and the kernel's own addresses differ between kernels and hosts. A seed is
 * to mean the same on all, so none of them is mixed into the pool.
 */

#include <hoplab/seed.h>

/*
 * RNDCLEARPOOL, which has no effect elsewhere: from here on the generator depends on this seed alone, not on how
 * much was drawn before.
 */
static void begin_with_seed(unsigned long seed)
{
	if (!os_entropy_is_seeded())
		return;
	spin_lock_irq(&input_pool.lock);
	blake2s_init(&input_pool.hash, BLAKE2S_HASH_SIZE);
	spin_unlock_irq(&input_pool.lock);
	os_entropy_from(seed);
	crng_reseed(NULL);
}
