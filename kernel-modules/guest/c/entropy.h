/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With entropy_seed=N on the command line, a stream that N determines replaces the host's entropy.
 * So a run in virtual time can be repeated. The stream is SplitMix64 (Steele, Lea, Flood 2014).
 * Such a guest has no secrets. The file that includes this one is arch/um/os-Linux/util.c.
 */

#include <hoplab/seed.h>

static int entropy_is_seeded;
static unsigned long long entropy_state;

int os_entropy_is_seeded(void)
{
	return entropy_is_seeded;
}

void os_entropy_from(unsigned long long seed)
{
	entropy_state = seed;
}

static int __init entropy_seed_setup(char *line, int *add)
{
	entropy_state = strtoull(line, NULL, 10);
	entropy_is_seeded = 1;
	return 0;
}

__uml_setup("entropy_seed=", entropy_seed_setup,
"entropy_seed=<number>\n"
"    Take the kernel's entropy from a stream determined by this number\n"
"    instead of the host, so that a run can be repeated.\n\n"
);

static unsigned long long entropy_next(void)
{
	unsigned long long z = (entropy_state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static ssize_t seeded_entropy(void *buf, size_t len)
{
	unsigned char *out = buf;
	size_t done;

	for (done = 0; done < len; done += sizeof(entropy_state)) {
		unsigned long long word = entropy_next();
		size_t part = len - done;

		if (part > sizeof(word))
			part = sizeof(word);
		memcpy(out + done, &word, part);
	}
	return len;
}
