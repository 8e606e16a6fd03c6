// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.h"

#include "access.h"
#include "accounts.h"
#include "arch/arch.h"
#include "code.h"
#include "owners.h"
#include "put_off.h"
#include "results.h"
#include "symbols.h"

#include <string.h>

/* What a vector's stub has at most: it pushes a number, and jumps to where the interrupt begins. */
#define STUB_BYTES 16

#define PAGE_MASK 0xfff
#define NO_NUMBER -1

static struct {
	uint64_t avc; /* avc_cache_stats; 0: not known, or not yet */
	bool called;  /* user space makes a system call, where its entry does not tell */
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

/* The same where calls leave their return address in a register. */
static void on_link_hook(unsigned int vcpu, void *back)
{
	(void)vcpu;
	accounts_hook_slot((uintptr_t)back);
}

static void on_back(unsigned int vcpu, void *vaddr)
{
	(void)vcpu;
	accounts_hook_return((uintptr_t)vaddr, NO_NUMBER);
}

static void on_unlink(unsigned int vcpu, void *hook)
{
	(void)vcpu;
	accounts_hook_return(0, (int)(intptr_t)hook);
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

static void on_user_call(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	watch.called = true;
}

/* One entry for system calls and exceptions. */
static void on_sync(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (watch.called)
		accounts_syscall();
	else
		accounts_push(FRAME_FAULT);
	watch.called = false;
}

static void on_device(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	accounts_device();
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

/* The first counter that is ever incremented is that of the lookups: all else follows one. */
static void on_increment(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)info, (void)data;
	if (!disarm())
		return;
	if (!watch.avc)
		watch.avc = at;
	if (at == watch.avc || at == watch.avc + sizeof(uint32_t))
		accounts_avc(at != watch.avc);
}

static void instrument_switch(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	uint64_t offset;
	enum switch_part part = guest_code->switches(bytes, size, &offset);

	if (part == SWITCH_SAVE)
		watch_access(insn, on_save_stack, 0);
	else if (part == SWITCH_LOAD)
		watch_access(insn, on_load_stack, offset);
}

/* Whether code at this address is part of what a hook does: a module's, or the way to one. */
static bool is_of_module(uint64_t addr)
{
	const struct symbol *symbol = symbols_last(&owners.symbols, addr);

	return symbol && (owners_is_module(symbol) || !strncmp(symbol->name, "__SCT__", 7) ||
			  !strncmp(symbol->name, "__x86_", 6));
}

/*
 * Instructions at which a hook may end: returns, and jumps to what is no part of it, such as
 * fsnotify_perm() of Linux 6.1. Where the stack stands at a jump is known from the last pop.
 */
static void instrument_module(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
			      const struct symbol *symbol)
{
	uint64_t target = guest_code->target(bytes, size, qemu_plugin_insn_vaddr(insn), false);
	int stack = guest_code->stack ? guest_code->stack(bytes, size) : 0;
	bool returns = guest_arch->step(bytes, size) == STEP_RETURN;
	intptr_t hook = owners_hook(symbol);

	if (returns && guest_arch->links)
		call_at(insn, on_unlink, (uintptr_t)hook);
	else if (returns)
		watch_access(insn, on_return, (uint64_t)hook);
	else if (stack < 0)
		watch_access(insn, on_pop_word, 0);
	else if (hook >= 0 && stack > 0)
		watch_access(insn, on_push_word, 0);
	else if (target && (target < symbol->addr || target >= owners_end(symbol)) &&
		 !is_of_module(target))
		call_at(insn, on_jump, (uintptr_t)hook);
}

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
	{"handle_fasteoi_irq", on_device, 0}, /* where all interrupts have one entry */
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

static void instrument_entry(struct qemu_plugin_insn *insn, const struct symbol *symbol)
{
	exec_cb callback = NULL;
	uintptr_t data = 0;

	if (symbol->kind == SYM_SYSCALL)
		callback = on_syscall;
	else if (symbol->kind == SYM_FAULT || symbol->kind == SYM_TRAP)
		callback = on_push, data = FRAME_FAULT;
	else if (symbol->kind == SYM_SYNC)
		callback = on_sync;
	else if (symbol->kind == SYM_INTERRUPT && guest_arch->links)
		callback = on_push, data = FRAME_TICK;
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
 * Lookups or misses, the first fields of struct avc_cache_stats (security/selinux/include/avc.h,
 * Linux 6.1 to 7.2), are incremented.
 */
static void instrument_avc(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size,
			   const struct symbol *symbol)
{
	uint64_t at = 0;

	if (guest_code->counts && watch.avc)
		at = guest_code->counts(bytes, size, qemu_plugin_insn_vaddr(insn));
	if (at && (at == watch.avc || at == watch.avc + sizeof(uint32_t)))
		call_at(insn, on_avc, at != watch.avc);
	if (guest_code->increments && owners_is_module(symbol) &&
	    !strncmp(symbol->name, "avc_", 4) && guest_code->increments(bytes))
		watch_access(insn, on_increment, 0);
}

void watch_avc(uint64_t stats)
{
	if (guest_code->counts)
		watch.avc = stats;
}

static bool is_softirq(const struct symbol *symbol)
{
	return symbol &&
	       (!strcmp(symbol->name, "__do_softirq") || !strcmp(symbol->name, "handle_softirqs"));
}

bool watch_user(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	access_begin();
	if (guest_arch->step(bytes, size) == STEP_SYSCALL)
		call_at(insn, on_user_call, 0);
	return access_called();
}

static void instrument_hook_call(struct qemu_plugin_insn *insn, uint64_t back)
{
	if (guest_arch->links)
		call_at(insn, on_link_hook, back);
	else
		watch_access(insn, on_call_hook, 0);
}

/* Where a hook that was called returns to. */
static void instrument_back(struct qemu_plugin_insn *insn, uint64_t vaddr)
{
	const uint8_t *call = qemu_plugin_insn_haddr(insn);
	uint64_t target;

	/* What is before a page may be anywhere; a callback more does no harm. */
	if (call && vaddr & PAGE_MASK) {
		target = guest_code->target(call - 4, 4, vaddr - 4, true);
		if (!target || owners_hook(symbols_at(&owners.symbols, target)) < 0)
			return;
	}
	call_at(insn, on_back, vaddr);
}

bool watch_kernel(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	const struct symbol *entry = symbols_at(&owners.symbols, vaddr);
	const struct symbol *symbol = symbols_around(&owners.symbols, vaddr);
	uint64_t target = guest_code->target(bytes, size, vaddr, true);
	enum step step = guest_arch->step(bytes, size);

	access_begin();
	if (guest_arch->links)
		instrument_back(insn, vaddr);
	instrument_avc(insn, bytes, size, symbol);
	if (entry)
		instrument_entry(insn, entry);
	if (symbol && symbol->kind == SYM_SWITCH)
		instrument_switch(insn, bytes, size);
	else if (symbol && !strcmp(symbol->name, "wake_up_new_task"))
		watch_access(insn, on_touch, 0);
	else if (target && owners_hook(symbols_at(&owners.symbols, target)) >= 0)
		instrument_hook_call(insn, vaddr + size);
	else if (owners_is_module(symbol))
		instrument_module(insn, bytes, size, symbol);
	else if (is_softirq(symbol) && step == STEP_RETURN)
		call_at(insn, on_pop, true);
	else if (symbol)
		put_off_watch(insn, bytes, step, symbol);
	results_watch(insn, bytes, size, symbol);
	if (step == STEP_SYSCALL_RETURN)
		call_at(insn, on_return_to_user, 0);
	if (step == STEP_EXCEPTION_RETURN)
		call_at(insn, on_pop, false);
	return access_called();
}
