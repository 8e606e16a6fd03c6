// SPDX-License-Identifier: GPL-2.0-or-later
/* Feeds the models of a processor with what it reads: a letter and two numbers a line. */
#include "events/kinds.h"
#include "events/memory.h"
#include "events/predictor.h"

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
	static struct memory memory;
	static struct predictor predictor;
	uint64_t first, second;
	char kind;

	if (!memory_init(&memory))
		return 1;
	predictor_clear(&predictor);
	while (scanf(" %c %" SCNx64 " %" SCNx64, &kind, &first, &second) == 3) {
		uint32_t counts[EVENTS] = {0};
		bool foreseen = true;

		if (kind == 'f')
			memory_fetch(&memory, first, counts);
		else if (kind == 'a')
			memory_access(&memory, first, counts);
		else if (kind == 'b')
			foreseen = predict_branch(&predictor, first, second);
		else if (kind == 't')
			foreseen = predict_target(&predictor, first, second);
		else if (kind == 'c')
			predictor_call(&predictor, first);
		else if (kind == 'r')
			foreseen = predictor_return(&predictor) == first;
		else if (kind == 'n')
			memory_begin(&memory);
		printf("%d", !foreseen);
		for (int event = EV_CODE_LINES; event <= EV_STLB_MISSES; event++)
			printf(" %" PRIu32, counts[event]);
		putchar('\n');
	}
	return 0;
}
