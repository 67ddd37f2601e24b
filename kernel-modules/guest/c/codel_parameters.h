/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CoDel's parameters of mac80211's queues, which mac80211 itself never changes: lines of the file aqm of a radio in
 * debugfs, in us. CoDel keeps them in units of 1.024 us. A ce_threshold of 0 is none. net/mac80211/debugfs.c includes
 * this file.
 */

#include <linux/math.h>
#include <linux/math64.h>

static u32 codel_time_of_us(u32 us)
{
	return DIV_ROUND_CLOSEST_ULL((u64)us * NSEC_PER_USEC, 1 << CODEL_SHIFT);
}

static u32 us_of_codel_time(codel_time_t time)
{
	return DIV_ROUND_CLOSEST_ULL((u64)time << CODEL_SHIFT, NSEC_PER_USEC);
}

static int show_codel_parameters(const struct codel_params *params, char *text, size_t size)
{
	bool marks = params->ce_threshold != CODEL_DISABLED_THRESHOLD;

	return scnprintf(text, size,
			 "RW codel_target_us %u\n"
			 "RW codel_interval_us %u\n"
			 "RW codel_ce_threshold_us %u\n",
			 us_of_codel_time(params->target),
			 us_of_codel_time(params->interval),
			 marks ? us_of_codel_time(params->ce_threshold) : 0);
}

/* Returns 0, or -EINVAL for what is no line of these, or for a time with which CoDel cannot reckon. */
static int set_codel_parameter(struct codel_params *params, const char *line)
{
	char name[24], value[16], more;
	u32 us;

	if (sscanf(line, "%23s %15s %c", name, value, &more) != 2)
		return -EINVAL;
	if (!strcmp(name, "codel_ce_threshold_us") && !strcmp(value, "off"))
		us = 0;
	else if (kstrtou32(value, 10, &us))
		return -EINVAL;
	/* Its clock goes round after twice this. */
	if (codel_time_of_us(us) >= CODEL_DISABLED_THRESHOLD)
		return -EINVAL;
	if (!strcmp(name, "codel_target_us"))
		params->target = codel_time_of_us(us);
	else if (!strcmp(name, "codel_interval_us") && us)
		params->interval = codel_time_of_us(us);
	else if (!strcmp(name, "codel_ce_threshold_us"))
		params->ce_threshold = us ? codel_time_of_us(us) : CODEL_DISABLED_THRESHOLD;
	else
		return -EINVAL;
	return 0;
}
