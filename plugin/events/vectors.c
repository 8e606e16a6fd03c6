// SPDX-License-Identifier: GPL-2.0-or-later
#include "vectors.h"

#include <inttypes.h>
#include <stdlib.h>

FILE *vectors_create(const char *path)
{
	FILE *out = fopen(path, "w");

	if (out) {
		fputs("lsmeter-events 1\nnames " EVENT_NAMES "\n", out);
		fflush(out);
	}
	return out;
}

static bool grow(struct vectors *vectors)
{
	static uint32_t all; /* room of all regions */
	uint32_t more = vectors->room ? vectors->room : 128;
	struct vector *list;

	if (vectors->room == MAX_VECTORS || all + more > MAX_ALL_VECTORS)
		return false;
	list = realloc(vectors->list, (vectors->room + more) * sizeof(*list));
	if (!list)
		return false;
	all += more;
	vectors->list = list;
	vectors->room += more;
	return true;
}

void vectors_add(struct vectors *vectors, uint32_t (*rows)[EVENTS], uint32_t count, bool whole)
{
	struct vector *vector;

	if (vectors->more || (vectors->count == vectors->room && !grow(vectors))) {
		vectors->more++;
		return;
	}
	vector = &vectors->list[vectors->count++];
	*vector = (struct vector){.whole = whole};
	for (uint32_t row = 0; row < count; row++)
		for (int event = 0; event < EVENTS; event++)
			vector->counts[event] += rows[row][event];
}

void vectors_write(const struct vectors *vectors, uint32_t region, FILE *out)
{
	fprintf(out, "region %" PRIu32 " %" PRIu64 "\n", region, vectors->more);
	for (uint32_t i = 0; i < vectors->count; i++) {
		const struct vector *vector = &vectors->list[i];

		fputc(vector->whole ? 'v' : 'x', out);
		for (int event = 0; vector->whole && event < EVENTS; event++)
			fprintf(out, " %" PRIu32, vector->counts[event]);
		fputc('\n', out);
	}
	fprintf(out, "end %" PRIu32 "\n", region);
	fflush(out);
}
