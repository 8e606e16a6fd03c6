// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs instructions, a line of hexadecimal bytes each, and prints what cycle all have ended in. */
#include "events/dataflow.h"

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
	static struct dataflow flow;
	char line[64];

	dataflow_clear(&flow);
	while (fgets(line, sizeof(line), stdin)) {
		uint8_t bytes[16] = {0};
		unsigned int byte;
		size_t size = 0;

		while (size < sizeof(bytes) && sscanf(line + 2 * size, "%2x", &byte) == 1)
			bytes[size++] = (uint8_t)byte;
		struct parts parts = take_apart(bytes, size);
		struct operands operands = operands_of(&parts);

		dataflow_run(&flow, &operands);
	}
	printf("%" PRIu64 "\n", flow.all / QUARTERS);
	return 0;
}
