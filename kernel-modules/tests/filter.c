// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's bandwidth filter outside the kernel, for comparison with a floating-point reference.
 *
 *	filter TAU_US M START_US <trace
 *
 * reads "TIME_US BYTES", one acknowledgement a line, and writes the estimate after each in 1/256
 * byte/s. Unsigned overflow and division by zero would stop it (-fsanitize=undefined).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "../tcp/tcpw_filter.h"

int main(int count, char **arguments)
{
	struct tcpw_filter filter = { 0 };
	uint64_t time_us;
	uint32_t bytes;
	u32 tau_us, m;

	if (count != 4)
		return 2;
	tau_us = strtoul(arguments[1], NULL, 10);
	m = strtoul(arguments[2], NULL, 10);
	filter.at_us = strtoull(arguments[3], NULL, 10);
	while (scanf("%" SCNu64 " %" SCNu32, &time_us, &bytes) == 2) {
		tcpw_acknowledge(&filter, tau_us, m, time_us, bytes);
		printf("%" PRIu64 "\n", (uint64_t)filter.estimate);
	}
	return 0;
}
