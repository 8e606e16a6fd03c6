// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU plugin: what each function of the guest's kernel costs between two markers, in instructions.
 *
 * Markers (markers.h) are executed in user space. The payload of begin and end is the number of the
 * region; a nibble shifts its four lowest bits into the number of what is begun and ended as region
 * 0; before the first nibble, region 0 is passed over. Until the first marker nothing else is
 * instrumented, so that booting stays fast.
 *
 * What differs between architectures is in arch/, and what events are, in events/.
 *
 * Arguments: syms=FILE (see symbols.h), out=FILE, stack=BYTES of a kernel stack (16384), and
 * events=FILE, which asks for events of each function as well, and takes those of each sample.
 */
#include "events/vectors.h"
#include "events/watch.h"
#include "install.h"
#include "markers.h"
#include "qemu_api.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#define NAME	       "attribution"
#define FORMAT_VERSION 3
#define UNKNOWN_CODE   "[no symbol]"

/* Of all instructions, and of calls and returns. */
enum counter { COUNT_ALL, COUNT_LINKS };

static struct {
	bool active;	/* everything is instrumented, not only the markers */
	uint64_t links; /* calls and returns up to the last one that was seen */
	uint64_t led;	/* count after the latest instruction that leads into the kernel itself */
	enum symbol_kind leads; /* what it is there */
	struct symbols symbols;
	struct samples samples;
} plugin = {.samples = SAMPLES_NONE};

static bool measuring(void)
{
	return plugin.samples.region != NO_REGION;
}

static uint64_t now(void)
{
	return counter_now(COUNT_ALL);
}

/*
 * Whether a call or return was executed since the last that was seen. Up to QEMU 7.2 a callback
 * stays in force after its instruction, and is called for what interrupts and others access then.
 */
static bool is_new_link(void)
{
	uint64_t links = counter_now(COUNT_LINKS);
	bool is_new = links != plugin.links;

	plugin.links = links;
	return is_new;
}

/* function: the one that the call or return is part of. */
static void on_call(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t slot, void *function)
{
	(void)vcpu;
	/* A call through memory also reads its target. */
	if (measuring() && qemu_plugin_mem_is_store(info) && is_new_link())
		shadow_call(&plugin.samples.shadow, function, slot, now());
}

static void on_return(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t slot, void *function)
{
	(void)vcpu;
	if (measuring() && !qemu_plugin_mem_is_store(info) && is_new_link())
		shadow_return(&plugin.samples.shadow, function, slot, now());
}

/* A call whose return address no memory holds. */
struct link {
	const struct symbol *function; /* that it is part of, NULL for none */
	uint64_t back;
};

static void on_link(unsigned int vcpu, void *data)
{
	const struct link *link = data;

	(void)vcpu;
	if (measuring())
		shadow_link(&plugin.samples.shadow, link->function, link->back, now() + 1);
}

static void on_unlink(unsigned int vcpu, void *function)
{
	(void)vcpu;
	if (measuring())
		shadow_unlink(&plugin.samples.shadow, function, now() + 1);
}

static void on_back(unsigned int vcpu, void *vaddr)
{
	(void)vcpu;
	if (measuring())
		shadow_back(&plugin.samples.shadow, (uintptr_t)vaddr);
}

static void on_context(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t at, void *data)
{
	(void)vcpu, (void)data;
	if (measuring())
		shadow_context(&plugin.samples.shadow, at, qemu_plugin_mem_is_store(info));
}

static void on_lead(unsigned int vcpu, void *kind)
{
	(void)vcpu;
	plugin.led = now() + 1;
	plugin.leads = (enum symbol_kind)(uintptr_t)kind;
}

static void on_entry(unsigned int vcpu, void *data)
{
	const struct symbol *symbol = data;
	enum symbol_kind kind = symbol->kind;
	bool led;

	(void)vcpu;
	if (!measuring())
		return;
	if (kind == SYM_SYNC)
		kind = plugin.led == now() ? plugin.leads : SYM_FAULT;
	led = kind != SYM_FAULT && kind != SYM_TRAP && kind != SYM_INTERRUPT;
	if (led)
		events_arrive(plugin.samples.events, symbol->addr, now());
	shadow_entry(&plugin.samples.shadow, symbol, kind, now());
	if (!led)
		events_astray(plugin.samples.events);
}

static void on_unknown(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (measuring())
		shadow_unknown(&plugin.samples.shadow, UNKNOWN_CODE, now());
}

static void on_iret(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (measuring())
		shadow_iret(&plugin.samples.shadow, now());
}

static void on_sysret(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (measuring())
		shadow_sysret(&plugin.samples.shadow, now());
}

static void on_user(unsigned int vcpu, void *block)
{
	(void)vcpu;
	if (measuring())
		shadow_user(&plugin.samples.shadow, block, now());
}

static void activate(void)
{
	if (plugin.active)
		return;
	plugin.active = true;
	/* Everything that is translated already lacks the instrumentation. */
	watch_restart();
}

static void take_marker(uint32_t marker)
{
	uint32_t kind = marker & (MARKER_MASK | MARKER_KIND);
	uint32_t id = samples_region(&plugin.samples, marker);

	if (!plugin.active) {
		/* A sample that begins now could not be seen whole any more; the next one can. */
		if (kind != MARKER_END)
			activate();
		return;
	}
	if (id == NO_REGION)
		return;
	if (kind == MARKER_BEGIN) {
		plugin.links = counter_now(COUNT_LINKS);
		samples_begin(&plugin.samples, id, now());
	} else if (kind == MARKER_END) {
		samples_end(&plugin.samples, id, now());
	}
}

static void watch_run(struct qemu_plugin_insn *insn, exec_cb callback, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, CB_NO_REGS, data);
}

static void watch_memory(struct qemu_plugin_insn *insn, mem_cb callback, void *data)
{
	qemu_plugin_register_vcpu_mem_cb(insn, callback, CB_NO_REGS, MEM_READ_AND_WRITE, data);
}

/* A call or return, which has its address in memory or in a register. */
static void instrument_flow(struct qemu_plugin_insn *insn, enum step step, size_t size)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	const struct symbol *function = symbols_around(&plugin.symbols, vaddr);
	struct link *link;

	if (!guest_arch->links) {
		counter_add(insn, COUNT_LINKS, 1);
		watch_memory(insn, step == STEP_CALL ? on_call : on_return, (void *)function);
		return;
	}
	if (step == STEP_RETURN) {
		watch_run(insn, on_unlink, (void *)function);
		return;
	}
	/* Kept for ever, like blocks. */
	link = malloc(sizeof(*link));
	if (!link)
		abort();
	*link = (struct link){.function = function, .back = vaddr + size};
	watch_run(insn, on_link, link);
}

/* Whether the first instruction of a block follows a call, by the memory before it. */
static bool follows_call(const struct qemu_plugin_insn *first)
{
	const uint8_t *bytes = qemu_plugin_insn_haddr(first);

	/* What is before a page may be anywhere, or nowhere. */
	if (!bytes || !(qemu_plugin_insn_vaddr(first) & 0xfff))
		return true;
	return guest_arch->step(bytes - 4, 4) == STEP_CALL;
}

static void instrument_entry(struct qemu_plugin_insn *insn, bool first)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	const struct symbol *symbol = symbols_at(&plugin.symbols, vaddr);

	if (first && guest_arch->links && follows_call(insn))
		watch_run(insn, on_back, (void *)(uintptr_t)vaddr);
	if (symbol)
		watch_run(insn, on_entry, (void *)symbol);
	else if (first && (vaddr < plugin.symbols.text_start || vaddr >= plugin.symbols.text_end))
		watch_run(insn, on_unknown, NULL);
}

static void instrument_kernel(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t size)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	const struct symbol *function = symbols_around(&plugin.symbols, vaddr);
	enum step step = guest_arch->step(bytes, size);

	switch (step) {
	case STEP_EXCEPTION_RETURN:
		watch_run(insn, on_iret, NULL);
		break;
	case STEP_SYSCALL_RETURN:
		watch_run(insn, on_sysret, NULL);
		break;
	case STEP_CALL:
	case STEP_RETURN:
		instrument_flow(insn, step, size);
		break;
	case STEP_BREAK:
		watch_run(insn, on_lead, (void *)SYM_TRAP);
		break;
	default:
		if (guest_arch->links && function && function->kind == SYM_SWITCH)
			watch_memory(insn, on_context, NULL);
	}
}

static void instrument_lead(struct qemu_plugin_insn *insn, enum step step)
{
	if (step == STEP_SYSCALL || step == STEP_BREAK)
		watch_run(insn, on_lead,
			  (void *)(uintptr_t)(step == STEP_SYSCALL ? SYM_SYSCALL : SYM_TRAP));
}

/* Blocks are kept for ever: what was translated may run at any time. */
static void instrument_user(struct qemu_plugin_tb *tb, size_t count)
{
	static const struct block unknown;
	struct block *block = malloc(sizeof(*block));

	if (block)
		*block = (struct block){
			.first = qemu_plugin_tb_vaddr(tb),
			.last = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, count - 1)),
			.insns = count,
		};
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_user, CB_NO_REGS,
					     block ? block : (void *)&unknown);
}

static void on_translate(struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	bool kernel = symbols_kernel(&plugin.symbols, qemu_plugin_tb_vaddr(tb));
	const struct event_block *block =
		plugin.active && plugin.samples.events ? block_of(tb) : NULL;

	if (plugin.active && !kernel)
		instrument_user(tb, count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t bytes[MAX_INSN_BYTES] = {0};
		size_t size = insn_bytes(insn, bytes);

		/* Callbacks come before the counter, so that they see it without this one. */
		if (!kernel)
			watch_marker(insn, bytes, size, take_marker);
		if (!plugin.active)
			continue;
		if (kernel)
			instrument_entry(insn, i == 0);
		if (block)
			watch_access(insn, block, i);
		if (block && i == 0)
			watch_block(insn, block);
		if (kernel)
			instrument_kernel(insn, bytes, size);
		else
			instrument_lead(insn, guest_arch->step(bytes, size));
		counter_add(insn, COUNT_ALL, 1);
	}
}

static void on_exit_qemu(void)
{
	samples_finish(&plugin.samples);
	finish(NAME, plugin.samples.out);
	if (plugin.samples.events)
		finish(NAME, plugin.samples.events_out);
}

static int parse_stack(const char *text, uint64_t *stack_bytes)
{
	char *end;

	*stack_bytes = strtoull(text, &end, 10);
	if (*end || *stack_bytes < 4096 || *stack_bytes & (*stack_bytes - 1))
		return refuse(NAME, "stack= must be a power of two from 4096 on, not ", text);
	return 0;
}

static int count_events(const char *path)
{
	static struct events events;

	plugin.samples.events_out = vectors_create(path);
	if (!plugin.samples.events_out)
		return refuse(NAME, "cannot write events= ", path);
	if (!events_init(&events))
		return refuse(NAME, "no memory for models of a processor", "");
	plugin.samples.events = &events;
	watch_events(&events, COUNT_ALL);
	return 0;
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv)
{
	struct argument own[] = {{"stack=", NULL}, {"events=", NULL}};
	uint64_t stack_bytes = 16384;

	plugin.samples.out =
		install(NAME, FORMAT_VERSION, own, 2, info, argc, argv, &plugin.symbols);
	if (!plugin.samples.out || (own[0].value && parse_stack(own[0].value, &stack_bytes)))
		return -1;
	if (own[1].value && count_events(own[1].value))
		return -1;
	if (guest_arch->links)
		stack_bytes = 0;
	if (!shadow_init(&plugin.samples.shadow, stack_bytes, plugin.samples.events))
		return refuse(NAME, "no memory for shadow stacks", "");
	counter_init();
	watch_start(id, on_translate, on_exit_qemu);
	return 0;
}
