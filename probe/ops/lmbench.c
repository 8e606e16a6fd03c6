// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `lmbench`: the rows of lmbench's tables, over operations of the other suites. What
 * differs from lmbench's own programs is in docs/reference/suites.md.
 */
#include "ops/bench.h"

#define SUITE					  "lmbench"
#define ROW(label, parameters, text, suite, same) {SUITE, label, parameters, text, same, suite}

static const struct row rows[] = {
	ROW("empty", "", "nothing: what the reading itself costs", "file", "empty"),
	ROW("getppid", "", "getppid, which asks no security module", "file", "getppid"),
	ROW("lat_syscall", "call=null", "lat_syscall null: getppid", "file", "getppid"),
	ROW("lat_syscall", "call=read", "lat_syscall read: a byte of /dev/zero", "syscall",
	    "read file=zero"),
	ROW("lat_syscall", "call=write", "lat_syscall write: a byte to /dev/null", "syscall",
	    "write file=null"),
	ROW("lat_syscall", "call=stat", "lat_syscall stat", "syscall", "stat"),
	ROW("lat_syscall", "call=fstat", "lat_syscall fstat", "syscall", "fstat"),
	ROW("lat_syscall", "call=open", "lat_syscall open: open and close", "syscall",
	    "open-close"),
	ROW("lat_select", "fds=10", "lat_select on 10 descriptors", "syscall", "select fds=10"),
	ROW("lat_select", "fds=100", "lat_select on 100 descriptors", "syscall", "select fds=100"),
	ROW("lat_select", "fds=500", "lat_select on 500 descriptors", "syscall", "select fds=500"),
	ROW("lat_fcntl", "", "lat_fcntl: lock a file", "syscall", "fcntl command=setlk"),
	ROW("lat_sig", "kind=install", "lat_sig install", "process", "signal-install"),
	ROW("lat_sig", "kind=catch", "lat_sig catch", "process", "signal-catch"),
	ROW("lat_sig", "kind=prot", "lat_sig prot: protection fault", "process", "signal-fault"),
	ROW("lat_proc", "call=fork", "lat_proc fork: fork, exit, wait", "process", "fork"),
	ROW("lat_proc", "call=exec", "lat_proc exec: vfork, execve, exit, wait", "process",
	    "exec program=static"),
	ROW("lat_proc", "call=shell", "lat_proc shell: sh -c", "process", "exec program=shell"),
	ROW("lat_ctx", "procs=2,kib=0", "lat_ctx of 2 processes, 0 KiB", "process",
	    "switch procs=2 kib=0"),
	ROW("lat_ctx", "procs=2,kib=16", "lat_ctx of 2 processes, 16 KiB", "process",
	    "switch procs=2 kib=16"),
	ROW("lat_ctx", "procs=2,kib=64", "lat_ctx of 2 processes, 64 KiB", "process",
	    "switch procs=2 kib=64"),
	ROW("lat_ctx", "procs=8,kib=0", "lat_ctx of 8 processes, 0 KiB", "process",
	    "switch procs=8 kib=0"),
	ROW("lat_ctx", "procs=8,kib=16", "lat_ctx of 8 processes, 16 KiB", "process",
	    "switch procs=8 kib=16"),
	ROW("lat_ctx", "procs=16,kib=16", "lat_ctx of 16 processes, 16 KiB", "process",
	    "switch procs=16 kib=16"),
	ROW("lat_ctx", "procs=16,kib=64", "lat_ctx of 16 processes, 64 KiB", "process",
	    "switch procs=16 kib=64"),
	ROW("lat_pipe", "", "lat_pipe: a byte there and back", "ipc", "turn by=pipe"),
	ROW("lat_unix", "", "lat_unix: a byte there and back", "ipc", "turn by=unix-stream"),
	ROW("lat_udp", "", "lat_udp: a byte there and back", "net", "udp-turn ip=4"),
	ROW("lat_tcp", "", "lat_tcp: a byte there and back", "net", "tcp-turn ip=4"),
	ROW("lat_connect", "", "lat_connect: connect, accept, close", "net", "tcp-connect ip=4"),
	ROW("lat_fs", "create=0k", "lat_fs: create an empty file", "file", "creat depth=1"),
	ROW("lat_fs", "delete=0k", "lat_fs: delete an empty file", "file", "unlink depth=1"),
	ROW("lat_fs", "delete=4k", "lat_fs: delete a file of 4 KiB", "file", "unlink size=4096"),
	ROW("lat_mmap", "", "lat_mmap: map and unmap a page of a file", "process",
	    "mmap page=file"),
	ROW("lat_pagefault", "", "lat_pagefault: a page of a file", "process", "fault page=file"),
	ROW("bw_pipe", "", "bw_pipe: 64 KiB through a pipe", "ipc", "pipe size=65536"),
	ROW("bw_unix", "", "bw_unix: 64 KiB through a pair of sockets", "ipc",
	    "unix-stream size=65536"),
	ROW("bw_tcp", "", "bw_tcp: 16 KiB through a connection", "net", "tcp ip=4 size=16384"),
	ROW("bw_file_rd", "", "bw_file_rd: 4 KiB of a cached file", "file", "read size=4096"),
	{0},
};
REGISTER_ROWS(rows);
