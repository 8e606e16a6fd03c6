// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plays what a plugin sees of a guest whose calls are linked, and prints the tree. Each line is
 *
 *	run N			so many instructions
 *	enter KIND NAME		the first instruction of a symbol is about to run
 *	call BACK, return	of one instruction; what is called, and gone on at, is told then
 *	back ADDRESS		what follows a call is about to run
 *	switch FROM TO		registers are stored at FROM, and loaded at TO
 *	eret, user
 *	classify WORD		prints what arch_arm64 makes of an instruction
 *	decode WORD		prints what events it is
 */
#include "arch/arch.h"
#include "attribution/shadow.h"
#include "events/decode.h"
#include "events/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct shadow shadow;
static uint64_t now;

static void classify(uint32_t insn)
{
	static const char *const names[] = {"next",   "call", "return", "eret",
					    "sysret", "svc",  "brk"};
	uint8_t bytes[4];

	memcpy(bytes, &insn, sizeof(insn));
	puts(names[arch_arm64.step(bytes, sizeof(bytes))]);
}

static void print_kinds(uint32_t insn)
{
	char names[] = EVENT_NAMES, *name = strtok(names, " ");
	uint8_t bytes[4];
	struct decoded found;

	memcpy(bytes, &insn, sizeof(insn));
	arch_choose("aarch64");
	found = decode(bytes, sizeof(bytes));
	for (int event = 0; name; event++, name = strtok(NULL, " "))
		if (event < 32 && found.kinds >> event & 1)
			printf("%s%s", event ? " " : "", name);
	putchar('\n');
}

static void enter(char kind, const char *name)
{
	struct symbol *symbol = calloc(1, sizeof(*symbol));

	if (!symbol)
		abort();
	*symbol = (struct symbol){.kind = (enum symbol_kind)kind, .name = strdup(name)};
	shadow_entry(&shadow, symbol, symbol->kind, now);
}

static void play(const char *line)
{
	uint64_t one = 0, two = 0;
	char kind, name[64];

	if (sscanf(line, "enter %c %63s", &kind, name) == 2) {
		enter(kind, name);
	} else if (sscanf(line, "run %" SCNu64, &one) == 1) {
		now += one;
	} else if (sscanf(line, "call %" SCNx64, &one) == 1) {
		shadow_link(&shadow, NULL, one, ++now);
	} else if (!strncmp(line, "return", 6)) {
		shadow_unlink(&shadow, NULL, ++now);
	} else if (sscanf(line, "back %" SCNx64, &one) == 1) {
		shadow_back(&shadow, one);
	} else if (sscanf(line, "switch %" SCNx64 " %" SCNx64, &one, &two) == 2) {
		shadow_context(&shadow, one, true);
		shadow_context(&shadow, one + 8, true);
		shadow_context(&shadow, two, false);
		shadow_context(&shadow, two + 8, false);
	} else if (!strncmp(line, "eret", 4)) {
		shadow_iret(&shadow, now++);
	} else if (!strncmp(line, "user", 4)) {
		static const struct block block;

		shadow_user(&shadow, &block, now);
	} else if (sscanf(line, "classify %" SCNx64, &one) == 1) {
		classify((uint32_t)one);
	} else if (sscanf(line, "decode %" SCNx64, &one) == 1) {
		print_kinds((uint32_t)one);
	}
}

static void print(void)
{
	const struct calltree *tree = &shadow.tree;

	for (uint32_t i = 1; i < tree->count; i++) {
		const char *above = tree->nodes[tree->nodes[i].parent].name;

		if (tree->nodes[i].calls || tree->nodes[i].self_insns)
			printf("%s %s %" PRIu32 " %" PRId64 "\n", above ? above : "-",
			       tree->nodes[i].name, tree->nodes[i].calls,
			       tree->nodes[i].self_insns);
	}
	printf("total %" PRId64 " of %" PRIu64 "%s\n", calltree_total(tree), now,
	       shadow.damaged ? " damaged" : "");
}

int main(void)
{
	char line[128];

	if (!shadow_init(&shadow, 0, NULL))
		return 1;
	shadow_begin(&shadow, now);
	while (fgets(line, sizeof(line), stdin))
		play(line);
	shadow_end(&shadow, now);
	if (now)
		print();
	return 0;
}
