// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.h"

#include "access.h"
#include "accounts.h"
#include "owners.h"
#include "results.h"
#include "symbols.h"

#include <string.h>

/* What a vector's stub has at most: it pushes a number, and jumps to where the interrupt begins. */
#define STUB_BYTES 16

static struct {
	uint64_t avc; /* avc_cache_stats */
} watch;

static void on_save_stack(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_leave(at);
}

static void on_load_stack(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *offset)
{
	(void)vcpu;
	if (!qemu_plugin_mem_is_store(info) && disarm())
		accounts_enter(at, (uintptr_t)offset);
}

static void on_touch(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)info, (void)data;
	if (disarm())
		accounts_touch(at);
}

static void on_call_hook(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_hook_slot(at);
}

static void on_return(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *hook)
{
	(void)vcpu;
	if (!qemu_plugin_mem_is_store(info) && disarm())
		accounts_hook_return(at, (int)(intptr_t)hook);
}

static void on_push_word(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_hook_push(at);
}

static void on_pop_word(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)data;
	if (!qemu_plugin_mem_is_store(info) && disarm())
		accounts_hook_pop(at);
}

static void on_make(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	accounts_make();
}

static void on_mark(unsigned int vcpu, void *account)
{
	(void)vcpu;
	accounts_mark((enum account)(uintptr_t)account);
}

static void on_push(unsigned int vcpu, void *kind)
{
	(void)vcpu;
	accounts_push((enum frame_kind)(uintptr_t)kind);
}

static void on_serve(unsigned int vcpu, void *account)
{
	(void)vcpu;
	accounts_serve((enum account)(uintptr_t)account);
}

static void on_defer(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *offset)
{
	(void)vcpu;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_defer(at - (uintptr_t)offset, offset);
}

static void on_deferred(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)data;
	if (qemu_plugin_mem_is_store(info) && disarm())
		accounts_deferred(at);
}

static void on_deferred_end(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	accounts_deferred_end();
}

static void on_pop(unsigned int vcpu, void *softirq)
{
	(void)vcpu;
	accounts_pop(softirq);
}

static void on_syscall(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	accounts_syscall();
}

static void on_call(unsigned int vcpu, void *call)
{
	(void)vcpu;
	accounts_call((unsigned int)(uintptr_t)call);
}

static void on_return_to_user(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	accounts_return();
}

static void on_hook(unsigned int vcpu, void *hook)
{
	(void)vcpu;
	accounts_hook_enter((unsigned int)(uintptr_t)hook);
}

static void on_jump(unsigned int vcpu, void *hook)
{
	(void)vcpu;
	accounts_hook_jump((int)(intptr_t)hook);
}

static void on_avc(unsigned int vcpu, void *miss)
{
	(void)vcpu;
	accounts_avc(miss);
}

static int32_t displacement(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* mov %rsp,OFFSET(%rdi) and mov OFFSET(%rsi),%rsp of __switch_to_asm. */
static void instrument_switch(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	static const uint8_t save[] = {0x48, 0x89, 0xa7}, load[] = {0x48, 0x8b, 0xa6};

	if (size == 7 && !memcmp(bytes, save, sizeof(save)))
		watch_access(insn, on_save_stack, 0);
	else if (size == 7 && !memcmp(bytes, load, sizeof(load)))
		watch_access(insn, on_load_stack, (uint64_t)displacement(bytes + 3));
}

static bool is_return(const uint8_t *bytes)
{
	return bytes[0] == 0xc3 || bytes[0] == 0xc2 || (bytes[0] == 0xf3 && bytes[1] == 0xc3);
}

/* Where a direct jump or call leads; 0: it is none. */
static uint64_t target_of(const uint8_t *bytes, size_t size, uint64_t vaddr, bool call)
{
	if (size == 5 && bytes[0] == (call ? 0xe8 : 0xe9))
		return vaddr + size + (uint64_t)displacement(bytes + 1);
	if (!call && size == 2 && bytes[0] == 0xeb)
		return vaddr + size + (uint64_t)(int8_t)bytes[1];
	return 0;
}

/* Whether code at this address is part of what a hook does: a module's, or the way to one. */
static bool is_of_module(uint64_t addr)
{
	const struct symbol *symbol = symbols_last(&owners.symbols, addr);

	return symbol && (owners_is_module(symbol) || !strncmp(symbol->name, "__SCT__", 7) ||
			  !strncmp(symbol->name, "__x86_", 6));
}

/* A push (0x50) or a pop (0x58) of a register. */
static bool is_of_stack(const uint8_t *bytes, uint8_t opcode)
{
	return (bytes[bytes[0] == 0x41] & 0xf8) == opcode;
}

/*
 * Instructions at which a hook may end: returns, and jumps to what is no part of it, such as
 * fsnotify_perm() of Linux 6.1. Where the stack stands at a jump is known from the last pop.
 */
static void instrument_module(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
			      const struct symbol *symbol)
{
	uint64_t target = target_of(bytes, size, qemu_plugin_insn_vaddr(insn), false);
	intptr_t hook = owners_hook(symbol);

	if (is_return(bytes))
		watch_access(insn, on_return, (uint64_t)hook);
	else if (is_of_stack(bytes, 0x58))
		watch_access(insn, on_pop_word, 0);
	else if (hook >= 0 && is_of_stack(bytes, 0x50))
		watch_access(insn, on_push_word, 0);
	else if (target && (target < symbol->addr || target >= owners_end(symbol)) &&
		 !is_of_module(target))
		call_at(insn, on_jump, (uintptr_t)hook);
}

static void instrument_entry(struct qemu_plugin_insn *insn, const struct symbol *symbol)
{
	static const struct {
		const char *name;
		exec_cb callback;
		uintptr_t data;
	} functions[] = {
		{"wake_up_new_task", on_make, 0},
		{"do_idle", on_mark, ACCOUNT_IDLE},
		{"__do_softirq", on_push, FRAME_SOFTIRQ},
		{"handle_softirqs", on_push, FRAME_SOFTIRQ},
		{"asm_sysvec_apic_timer_interrupt", on_push, FRAME_TICK},
		/* The kernel's thread that waits for grace periods. */
		{"rcu_gp_init", on_mark, ACCOUNT_CLOCK},
		{"rcu_gp_fqs_loop", on_mark, ACCOUNT_CLOCK},
		{"rcu_gp_cleanup", on_mark, ACCOUNT_CLOCK},
		{"run_timer_softirq", on_serve, ACCOUNT_CLOCK},
		{"net_tx_action", on_serve, ACCOUNT_INTERRUPTS},
		{"net_rx_action", on_serve, ACCOUNT_INTERRUPTS},
		{"tasklet_action", on_serve, ACCOUNT_INTERRUPTS},
		{"run_rebalance_domains", on_serve, ACCOUNT_CLOCK},
		{"sched_balance_softirq", on_serve, ACCOUNT_CLOCK}, /* the same, from 6.10 on */
		{"hrtimer_run_softirq", on_serve, ACCOUNT_CLOCK},
		{"rcu_core_si", on_serve, ACCOUNT_CLOCK},
	};
	exec_cb callback = NULL;
	uintptr_t data = 0;

	if (symbol->kind == SYM_SYSCALL)
		callback = on_syscall;
	else if (symbol->kind == SYM_FAULT || symbol->kind == SYM_TRAP)
		callback = on_push, data = FRAME_FAULT;
	else if (symbol->kind == SYM_INTERRUPT && owners_end(symbol) - symbol->addr > STUB_BYTES)
		callback = on_push, data = FRAME_INTERRUPT;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(symbol->name, functions[i].name))
			continue;
		callback = functions[i].callback;
		data = functions[i].data;
	}
	if (owners_hook(symbol) >= 0) {
		callback = on_hook;
		data = (uintptr_t)owners_hook(symbol);
	}
	if (owners_call(symbol) >= 0) {
		callback = on_call;
		data = (uintptr_t)owners_call(symbol);
	}
	if (callback)
		call_at(insn, callback, data);
}

/*
 * Work is put off by a callback for the end of a grace period, whose address call_rcu() stores in a
 * struct rcu_head, and rcu_do_batch() clears before it calls it; or in the list of a workqueue,
 * which insert_work() puts a struct work_struct in, and process_one_work() takes it from. Delayed
 * work is armed before: __queue_delayed_work() stores the queue in its struct delayed_work.
 */
static void instrument_put_off(struct qemu_plugin_insn *insn, const uint8_t *bytes,
			       const struct symbol *symbol)
{
	static const struct {
		const char *name;
		uint8_t opcode, displacement;
		uint8_t offset; /* to the place by which the work is known */
		mem_cb callback;
	} stores[] = {
		{"call_rcu", 0x89, 8, 0, on_defer},
		{"__call_rcu_common", 0x89, 8, 0, on_defer},
		{"rcu_do_batch", 0xc7, 8, 0, on_deferred},
		{"__queue_delayed_work", 0x89, 72, 72 - 16, on_defer},
		{"insert_work", 0x89, 16, 0, on_defer},
		{"process_one_work", 0x89, 16, 0, on_deferred},
	};

	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		size_t length = strlen(stores[i].name);

		/* Compilers add .constprop.0 and the like. */
		if (strncmp(symbol->name, stores[i].name, length) ||
		    (symbol->name[length] && symbol->name[length] != '.'))
			continue;
		if (is_store(bytes, stores[i].opcode, stores[i].displacement))
			watch_access(insn, stores[i].callback, stores[i].offset);
		else if (stores[i].callback == on_deferred && is_return(bytes))
			call_at(insn, on_deferred_end, 0);
	}
}

/*
 * incl %gs:ADDRESS, which this_cpu_inc() of an unsigned int is: of lookups or misses, the first
 * fields of struct avc_cache_stats (security/selinux/include/avc.h, Linux 6.1 to 7.2).
 */
static void instrument_avc(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	static const uint8_t relative[] = {0x65, 0xff, 0x05}, absolute[] = {0x65, 0xff, 0x04, 0x25};
	uint64_t at;

	if (size == 7 && !memcmp(bytes, relative, sizeof(relative)))
		at = qemu_plugin_insn_vaddr(insn) + size + (uint64_t)displacement(bytes + 3);
	else if (size == 8 && !memcmp(bytes, absolute, sizeof(absolute)))
		at = (uint64_t)displacement(bytes + 4);
	else
		return;
	if (at == watch.avc || at == watch.avc + sizeof(uint32_t))
		call_at(insn, on_avc, at != watch.avc);
}

void watch_avc(uint64_t stats)
{
	watch.avc = stats;
}

static bool is_softirq(const struct symbol *symbol)
{
	return symbol &&
	       (!strcmp(symbol->name, "__do_softirq") || !strcmp(symbol->name, "handle_softirqs"));
}

bool watch_kernel(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	static const uint8_t sysretq[] = {0x48, 0x0f, 0x07};
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	const struct symbol *entry = symbols_at(&owners.symbols, vaddr);
	const struct symbol *symbol = symbols_around(&owners.symbols, vaddr);
	uint64_t target = target_of(bytes, size, vaddr, true);

	access_begin();
	if (watch.avc)
		instrument_avc(insn, bytes, size);
	if (entry)
		instrument_entry(insn, entry);
	if (symbol && symbol->kind == SYM_SWITCH)
		instrument_switch(insn, bytes, size);
	else if (symbol && !strcmp(symbol->name, "wake_up_new_task"))
		watch_access(insn, on_touch, 0);
	else if (target && owners_hook(symbols_at(&owners.symbols, target)) >= 0)
		watch_access(insn, on_call_hook, 0);
	else if (owners_is_module(symbol))
		instrument_module(insn, bytes, size, symbol);
	else if (is_softirq(symbol) && is_return(bytes))
		call_at(insn, on_pop, true);
	else if (symbol)
		instrument_put_off(insn, bytes, symbol);
	results_watch(insn, bytes, size, symbol);
	if (size == 3 && !memcmp(bytes, sysretq, sizeof(sysretq)))
		call_at(insn, on_return_to_user, 0);
	if (bytes[0] == 0xcf || (bytes[0] == 0x48 && bytes[1] == 0xcf))
		call_at(insn, on_pop, false);
	return access_called();
}
