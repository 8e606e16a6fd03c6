// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/lsm.h"

#include "bpf/btf.h"
#include "bpf/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Why the kernel refused a program: the verifier's last line, when it wrote one. */
static int refused(const char *hook, int code, char *log)
{
	char *last = "", *line;

	for (line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, "processed ", 10) != 0)
			last = line;
	if (code == ENOSYS)
		return bpf_fail(code, "the kernel has no bpf system call (CONFIG_BPF_SYSCALL)");
	if (code == EPERM)
		return bpf_fail(code, "not permitted to load BPF programs (root is needed)");
	return bpf_fail(code, "the kernel refused the BPF program on %s: %s%s%s", hook,
			strerror(code), *last ? ": " : "", last);
}

static int load(const struct lsm_program *program, int function_id)
{
	static char log[16384];
	union bpf_attr attr;
	int fd, attempt;

	/* The log is asked for only after a refusal: a full log would itself be an error. */
	for (attempt = 0; attempt < 2; attempt++) {
		memset(&attr, 0, sizeof(attr));
		attr.prog_type = BPF_PROG_TYPE_LSM;
		attr.expected_attach_type = BPF_LSM_MAC;
		attr.attach_btf_id = (uint32_t)function_id;
		attr.insns = (uintptr_t)program->insns;
		attr.insn_cnt = program->insn_count;
		attr.license = (uintptr_t)"GPL";
		if (program->btf_fd >= 0) {
			attr.prog_btf_fd = (uint32_t)program->btf_fd;
			attr.func_info_rec_size = sizeof(*program->functions);
			attr.func_info = (uintptr_t)program->functions;
			attr.func_info_cnt = program->function_count;
		}
		if (attempt) {
			attr.log_buf = (uintptr_t)log;
			attr.log_size = sizeof(log);
			attr.log_level = 1;
		}
		fd = bpf_call(BPF_PROG_LOAD, &attr);
		if (fd >= 0)
			return fd;
	}
	log[sizeof(log) - 1] = '\0';
	return refused(program->hook, -fd, log);
}

int bpf_attach_lsm(const struct lsm_program *program)
{
	union bpf_attr attr;
	char function[128];
	int id = program->function_id, program_fd, link_fd;

	snprintf(function, sizeof(function), "bpf_lsm_%s", program->hook);
	if (!id)
		id = btf_find_kernel_function(function);
	if (id < 0)
		return id;
	program_fd = load(program, id);
	if (program_fd < 0)
		return program_fd;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.prog_fd = (uint32_t)program_fd;
	link_fd = bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr);
	close(program_fd); /* the link holds it */
	if (link_fd < 0)
		return bpf_fail(-link_fd, "the kernel does not attach BPF programs to %s: %s",
				program->hook, strerror(-link_fd));
	return link_fd;
}
