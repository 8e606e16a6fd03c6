// SPDX-License-Identifier: GPL-2.0-or-later
#include "results.h"

#include "access.h"
#include "accounts.h"

#include <string.h>

/* Where the kernel maps physical address 0 for its code; no guest has KASLR. */
#define TEXT_MAP 0xffffffff80000000

#define GUEST_ENOSYS 38

static struct {
	const uint8_t *memory; /* the guest's, from its physical address 0 on; NULL: not known */
	uint64_t bytes;	       /* of its first block */
	bool readable; /* a system call has stored what it begins with, as far as was read */
} results;

void results_memory(uint64_t bytes)
{
	results.bytes = bytes;
}

/* What was stored at an address, which is in the guest's memory; false if that is not known. */
static bool read_stored(qemu_plugin_meminfo_t info, uint64_t at, int64_t *value)
{
	const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, at);
	uint64_t address;

	if (!results.memory || !place || qemu_plugin_hwaddr_is_io(place))
		return false;
	address = qemu_plugin_hwaddr_phys_addr(place);
	if (address >= results.bytes || results.bytes - address < sizeof(*value))
		return false;
	memcpy(value, results.memory + address, sizeof(*value));
	return true;
}

/* Before a system call is known its result is -ENOSYS, which shows whether it can be read. */
static void on_no_result(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	int64_t value;

	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		results.readable = read_stored(info, at, &value) && value == -GUEST_ENOSYS;
}

static void on_result(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	int64_t value;

	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_result(results.readable && read_stored(info, at, &value) ? &value : NULL);
}

/* x86: what stores ax. */
void results_watch(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
		   const struct symbol *symbol)
{
	const uint8_t *here = qemu_plugin_insn_haddr(insn);

	if (size == 2 && bytes[0] == 0x6a && bytes[1] == (uint8_t)-GUEST_ENOSYS) {
		/* Addresses of what is no RAM are NULL. */
		results.memory = here ? here - (qemu_plugin_insn_vaddr(insn) - TEXT_MAP) : NULL;
		watch_access(insn, on_no_result, 0);
	} else if (size == 4 && bytes[0] == 0x48 && is_store(bytes, 0x89, 0x50) &&
		   !(bytes[2] & 0x38) && symbol && !strcmp(symbol->name, "do_syscall_64")) {
		watch_access(insn, on_result, 0);
	}
}
