/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's TCG plugin interface that the attribution plugin uses, declared here because
 * distributions ship no header for it, and the one place that knows how its versions differ:
 *
 *   1   QEMU 7.2 to 8.2: inline operations write to plain memory, instruction bytes by pointer
 *   2   QEMU 9.0:        inline operations write to a scoreboard with one entry per virtual CPU
 *   3   QEMU 9.1 to 11.0: instruction bytes are copied out
 *   7   QEMU 11.1 on:    callbacks get data of the plugin's own instead of its number
 *
 * LSMETER_PLUGIN_API selects one of them when the plugin is compiled. QEMU accepts a plugin whose
 * qemu_plugin_version lies between the oldest and the newest version that it knows.
 */
#ifndef LSMETER_QEMU_API_H
#define LSMETER_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef LSMETER_PLUGIN_API
#error "compile with -DLSMETER_PLUGIN_API=1, 2, 3 or 7 (see above)"
#endif

#define PLUGIN_EXPORT  __attribute__((visibility("default")))
#define MAX_INSN_BYTES 16 /* an x86 instruction has at most 15 */

typedef uint64_t qemu_plugin_id_t;

typedef struct qemu_info_t {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus;
			int max_vcpus;
		} system;
	};
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
typedef uint32_t qemu_plugin_meminfo_t;

enum { CB_NO_REGS = 0 };
/*
 * The read/write filter of memory callbacks is wrong in QEMU 7.2: every callback is registered
 * for both, and asks qemu_plugin_mem_is_store() itself.
 */
enum { MEM_READ_AND_WRITE = 3 };
enum { INLINE_ADD_U64 = 0 };

typedef void (*exec_cb)(unsigned int vcpu, void *data);
typedef void (*mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);

#if LSMETER_PLUGIN_API < 7
typedef void (*reset_cb)(qemu_plugin_id_t id);
typedef void (*exit_cb)(qemu_plugin_id_t id, void *data);
typedef void (*translate_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
void qemu_plugin_reset(qemu_plugin_id_t id, reset_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translate_cb cb);
#else
typedef void (*reset_cb)(void *data);
typedef void (*exit_cb)(void *data);
typedef void (*translate_cb)(struct qemu_plugin_tb *tb, void *data);
void qemu_plugin_reset(qemu_plugin_id_t id, reset_cb cb, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translate_cb cb, void *data);
#endif
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb, int flags,
					    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb, int flags, int rw,
				      void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_cb cb, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *place);
/* In RAM; the first block of it begins at 0. */
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place);
/* Where QEMU has it in its own memory, whatever the header calls it; NULL outside of RAM. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
#if LSMETER_PLUGIN_API <= 2
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *bytes, size_t size);
#endif
#if LSMETER_PLUGIN_API == 1
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op,
						void *counter, uint64_t imm);
#else
struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_bytes);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							 qemu_plugin_u64 entry, uint64_t imm);
#endif

/* From now on call translate for each block that is translated, and end when QEMU ends. */
void watch_start(qemu_plugin_id_t id, void (*translate)(struct qemu_plugin_tb *tb),
		 void (*end)(void));

/* The same anew: every block that is translated already is translated again. */
void watch_restart(void);

/* Running counts of guest instructions, by what each plugin numbers them. */
#define COUNTERS 64

void counter_init(void);
/* Add to a counter each time the instruction is executed. */
void counter_add(struct qemu_plugin_insn *insn, unsigned int which, uint64_t count);
uint64_t counter_now(unsigned int which);

/* Copy the bytes of an instruction; returns how many it has. */
size_t insn_bytes(struct qemu_plugin_insn *insn, uint8_t bytes[MAX_INSN_BYTES]);

#endif
