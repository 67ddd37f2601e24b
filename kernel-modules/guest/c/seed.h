/* SPDX-License-Identifier: GPL-2.0-only */
/* The entropy of a guest with a seed (entropy.h). */
#ifndef HOPLAB_SEED_H
#define HOPLAB_SEED_H

int os_entropy_is_seeded(void);
/* Begin the stream of another seed. */
void os_entropy_from(unsigned long long seed);

#endif
