// SPDX-License-Identifier: GPL-2.0-or-later
/* The bpf(2) system call, without a library: with the reason of a failure in one line. */
#include "bpf/syscall.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char error_text[512];

const char *bpf_error(void)
{
	return error_text;
}

int bpf_fail(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error_text, sizeof(error_text), format, arguments);
	va_end(arguments);
	return -code;
}

int bpf_call(enum bpf_cmd command, union bpf_attr *attr)
{
	long result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return result < 0 ? -errno : (int)result;
}
