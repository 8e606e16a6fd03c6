// SPDX-License-Identifier: GPL-2.0-or-later
#include "results.h"

#include "access.h"
#include "accounts.h"
#include "code.h"
#include "owners.h"

#include <string.h>

static struct {
	const uint8_t *memory; /* the guest's, from its first byte on; NULL: not known */
	uint64_t bytes;	       /* of its first block */
	uint64_t begin; /* of that, as QEMU numbers it: where it is, or 0 as part of a whole */
	bool readable;	/* a system call has stored what it begins with, as far as was read */
} results;

void results_memory(uint64_t bytes)
{
	results.bytes = bytes;
}

/* What was stored at an address, which is in the guest's memory; false if that is not known. */
static bool read_stored(qemu_plugin_meminfo_t info, uint64_t at, void *value, size_t size)
{
	const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, at);
	uint64_t address;

	if (!results.memory || !place || qemu_plugin_hwaddr_is_io(place))
		return false;
	address = qemu_plugin_hwaddr_phys_addr(place) - results.begin;
	if (address >= results.bytes || results.bytes - address < size)
		return false;
	memcpy(value, results.memory + address, size);
	return true;
}

/* Before a system call is known, what is stored shows whether it can be read. */
static void on_no_result(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	uint64_t begins[] = {results.begin, results.begin ? 0 : guest_code->memory};
	size_t size = guest_code->unknown_bytes;
	int64_t value;

	(void)vcpu, (void)data;
	if (!qemu_plugin_mem_is_store(info) || !disarm())
		return;
	results.readable = false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]) && !results.readable; i++) {
		results.begin = begins[i];
		results.readable = read_stored(info, at, &value, size) &&
				   !memcmp(&value, &guest_code->unknown, size);
	}
}

static void on_result(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	int64_t value;

	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_result(results.readable && read_stored(info, at, &value, sizeof(value))
					? &value
					: NULL);
}

void results_watch(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
		   const struct symbol *symbol)
{
	enum result_part part = guest_code->result(bytes, size);

	/* In entry code: functions may have the like. */
	if (part == RESULT_UNKNOWN && (!symbol || symbol->kind != SYM_FUNCTION)) {
		const uint8_t *here = qemu_plugin_insn_haddr(insn);
		uint64_t map = guest_code->text_map(owners.symbols.text_start);

		/* Addresses of what is no RAM are NULL. */
		results.memory = here ? here - (qemu_plugin_insn_vaddr(insn) - map) : NULL;
		watch_access(insn, on_no_result, 0);
	} else if (part == RESULT_STORED && symbol &&
		   !strcmp(symbol->name, guest_code->result_stored)) {
		watch_access(insn, on_result, 0);
	}
}
