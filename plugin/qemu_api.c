// SPDX-License-Identifier: GPL-2.0-or-later
/* What differs between the versions of QEMU's plugin interface, behind one face. */
#include "qemu_api.h"

#include <string.h>

PLUGIN_EXPORT int qemu_plugin_version = LSMETER_PLUGIN_API;

static struct {
	qemu_plugin_id_t id;
	void (*translate)(struct qemu_plugin_tb *tb);
	void (*end)(void);
} watch;

static void watch_register(void);

#if LSMETER_PLUGIN_API < 7

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	watch.translate(tb);
}

static void on_exit_qemu(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	watch.end();
}

static void on_reset(qemu_plugin_id_t id)
{
	(void)id;
	watch_register();
}

static void watch_register(void)
{
	qemu_plugin_register_vcpu_tb_trans_cb(watch.id, on_translate);
	qemu_plugin_register_atexit_cb(watch.id, on_exit_qemu, NULL);
}

void watch_restart(void)
{
	qemu_plugin_reset(watch.id, on_reset);
}

#else

static void on_translate(struct qemu_plugin_tb *tb, void *data)
{
	(void)data;
	watch.translate(tb);
}

static void on_exit_qemu(void *data)
{
	(void)data;
	watch.end();
}

static void on_reset(void *data)
{
	(void)data;
	watch_register();
}

static void watch_register(void)
{
	qemu_plugin_register_vcpu_tb_trans_cb(watch.id, on_translate, NULL);
	qemu_plugin_register_atexit_cb(watch.id, on_exit_qemu, NULL);
}

void watch_restart(void)
{
	qemu_plugin_reset(watch.id, on_reset, NULL);
}

#endif

void watch_start(qemu_plugin_id_t id, void (*translate)(struct qemu_plugin_tb *tb),
		 void (*end)(void))
{
	watch.id = id;
	watch.translate = translate;
	watch.end = end;
	watch_register();
}

#if LSMETER_PLUGIN_API == 1

static uint64_t counters[COUNTERS];

void counter_init(void)
{
}

void counter_add(struct qemu_plugin_insn *insn, unsigned int which, uint64_t count)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &counters[which], count);
}

uint64_t counter_now(unsigned int which)
{
	return counters[which];
}

#else

static struct qemu_plugin_scoreboard *scores;

void counter_init(void)
{
	scores = qemu_plugin_scoreboard_new(COUNTERS * sizeof(uint64_t));
}

void counter_add(struct qemu_plugin_insn *insn, unsigned int which, uint64_t count)
{
	qemu_plugin_u64 entry = {.score = scores, .offset = which * sizeof(uint64_t)};

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, INLINE_ADD_U64, entry, count);
}

/* Looked up each time: QEMU may move the scoreboard when a virtual CPU is added. */
uint64_t counter_now(unsigned int which)
{
	return ((const uint64_t *)qemu_plugin_scoreboard_find(scores, 0))[which];
}

#endif

size_t insn_bytes(struct qemu_plugin_insn *insn, uint8_t bytes[MAX_INSN_BYTES])
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size > MAX_INSN_BYTES)
		size = MAX_INSN_BYTES;
#if LSMETER_PLUGIN_API <= 2
	memcpy(bytes, qemu_plugin_insn_data(insn), size);
#else
	size = qemu_plugin_insn_data(insn, bytes, size);
#endif
	return size;
}
