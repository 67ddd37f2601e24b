/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the vDSO finds the clock that the process has; arch/x86/um/vdso/vma.c includes this file. */

#include <stub-data.h>

/* The vDSO is the same in all processes, and so is the clock's address. */
static void __init place_clock(unsigned long *words)
{
	unsigned long *end = words + PAGE_SIZE / sizeof(*words);

	while (words < end && *words != STUB_CLOCK_UNSET)
		words++;
	BUG_ON(words == end);
	*words = STUB_DATA + offsetof(struct stub_data, clock);
}
