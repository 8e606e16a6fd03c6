// SPDX-License-Identifier: GPL-2.0-or-later
#include "put_off.h"

#include "access.h"
#include "accounts.h"
#include "code.h"

#include <string.h>

static void on_defer(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *offset)
{
	(void)vcpu;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_defer(at - (uintptr_t)offset, false);
}

static void on_delay(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *offset)
{
	(void)vcpu;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_defer(at - (uintptr_t)offset, true);
}

static void on_deferred(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *offset)
{
	(void)vcpu;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_deferred(at - (uintptr_t)offset);
}

static void on_deferred_end(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	accounts_deferred_end();
}

void put_off_watch(struct qemu_plugin_insn *insn, const uint8_t *bytes, enum step step,
		   const struct symbol *symbol)
{
	static const struct {
		const char *name;
		uint8_t displacement;
		uint8_t offset; /* to the place by which the work is known */
		bool zero;
		mem_cb callback;
	} stores[] = {
		{"call_rcu", 8, 0, false, on_defer},
		{"__call_rcu_common", 8, 0, false, on_defer},
		{"rcu_do_batch", 8, 0, true, on_deferred},
		{"__queue_delayed_work", 72, 72 - 16, false, on_delay},
		{"insert_work", 16, 0, false, on_defer},
		{"__queue_work", 16, 0, false, on_defer}, /* the same as part of it */
		{"process_one_work", 16, 0, false, on_deferred},
	};
	uint64_t early;

	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		size_t length = strlen(stores[i].name);

		/* Compilers add .constprop.0 and the like. */
		if (strncmp(symbol->name, stores[i].name, length) ||
		    (symbol->name[length] && symbol->name[length] != '.'))
			continue;
		if (guest_code->stores(bytes, stores[i].displacement, stores[i].zero, &early))
			watch_access(insn, stores[i].callback, stores[i].offset - early);
		else if (stores[i].callback == on_deferred && step == STEP_RETURN)
			call_at(insn, on_deferred_end, 0);
	}
}
